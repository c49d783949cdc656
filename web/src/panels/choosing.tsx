/** A file that plays a part (a clip of a transition, a character): what it is, and a button to choose another. */

import { useState } from "preact/hooks";
import { Browser, type Kind } from "./browser";
import { Dialog } from "./elements";
import { open } from "./opening";
import { baseName } from "./values";

export function Chosen(props: { label: string; as: string; value: string; samples?: Kind; note?: string }) {
  const [choosing, setChoosing] = useState(false);
  return (
    <div class="chosen">
      <span class="chosen-label">{props.label}</span>
      <span class={props.value ? "chosen-name" : "chosen-name none"} title={props.value || props.note}>
        {props.value ? baseName(props.value) : (props.note ?? "none yet")}
      </span>
      <button
        type="button"
        aria-label={`Choose ${props.label}`}
        data-testid={`choose-${props.as}`}
        onClick={() => setChoosing(true)}
      >
        Choose…
      </button>
      {choosing && (
        <Dialog title={`Choose ${props.label}`} onClose={() => setChoosing(false)} testid={`chooser-${props.as}`}>
          <Browser
            verb={`Use as ${props.label}`}
            samples={props.samples}
            onChoose={(name) => {
              setChoosing(false);
              void open(name, props.as);
            }}
          />
        </Dialog>
      )}
    </div>
  );
}
