/** Files dropped anywhere on the page are handed over, and the user says what they are. */

import { useEffect, useState } from "preact/hooks";
import { document_ } from "./changing";
import { Dialog } from "./elements";
import { open, rolesIn, upload, uploading, usualRole, waiting } from "./opening";
import { baseName } from "./values";

export function Dropping() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const holdsFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    const enter = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      depth++;
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (holdsFiles(event) && --depth <= 0) {
        depth = 0;
        setOver(false);
      }
    };
    const above = (event: DragEvent) => holdsFiles(event) && event.preventDefault();
    const dropped = (event: DragEvent) => {
      if (!holdsFiles(event)) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      void upload([...(event.dataTransfer?.files ?? [])]);
    };
    const listeners = { dragenter: enter, dragleave: leave, dragover: above, drop: dropped } as const;
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener as EventListener);
    };
  }, []);
  return (
    <>
      {over && (
        <div class="drop-here" aria-hidden="true">
          Drop motions, characters or recipes to open them
        </div>
      )}
      {uploading.value !== null && (
        <div class="drop-here" role="status">
          Handing over {uploading.value}…
        </div>
      )}
      {uploading.value === null && waiting.value.length > 0 && <OpenAs key={waiting.value[0]} name={waiting.value[0]} />}
    </>
  );
}

function OpenAs(props: { name: string }) {
  const mode = document_.value?.mode ?? "retarget";
  const usual = usualRole(props.name, mode, !!document_.value?.recipe.actor.length);
  const done = () => (waiting.value = waiting.value.filter((name) => name !== props.name));
  return (
    <Dialog title={`Open ${baseName(props.name)} as`} onClose={done} testid="open-as">
      <div class="choices">
        {rolesIn(mode).map((role) => (
          <button
            type="button"
            key={role.as}
            class={role.as === usual ? "primary" : undefined}
            autofocus={role.as === usual}
            data-testid={`open-as-${role.as}`}
            onClick={() => {
              done();
              void open(props.name, role.as);
            }}
          >
            <b>{role.label}</b>
            <span>{role.about}</span>
          </button>
        ))}
        <button type="button" onClick={done}>
          <b>nothing</b>
          <span>only keep it beside the others: a skeleton file, a texture</span>
        </button>
      </div>
    </Dialog>
  );
}
