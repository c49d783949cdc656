/** One recipe over a folder: every motion of it, retargeted as the document says, ranked by verdict. */

import { useEffect, useState } from "preact/hooks";
import type { BatchState, Listing } from "../protocol";
import { batch, state } from "../store";
import { ask, document_ } from "./changing";
import { Dialog, Empty, Message, Section } from "./elements";
import { open } from "./opening";
import { ranked, SIGNS } from "./ranking";
import { baseName, seconds } from "./values";

export function BatchPanel() {
  const document = document_.value;
  if (document?.mode !== "retarget" || document.recipe.actor.length !== 1)
    return <Empty>Open a motion and the character that is to perform it: a batch does the same with every motion of a folder.</Empty>;
  return (
    <>
      <Start />
      {batch.value && <Rows state={batch.value} />}
    </>
  );
}

function Start() {
  const [folder, setFolder] = useState("");
  const [into, setInto] = useState("");
  const [choosing, setChoosing] = useState(false);
  const running = batch.value?.running ?? false;
  const target = document_.value?.recipe.actor[0]?.target;
  return (
    <Section title="Retarget a folder">
      <p class="note">
        Every motion in the folder and below it is performed by {target ? baseName(target) : "this character"}, with the options
        and bone pairs that are set here. Contacts are found in each; constraints and props of this motion are left out.
      </p>
      <div class="chosen">
        <span class="chosen-label">Folder</span>
        <span class={folder ? "chosen-name" : "chosen-name none"} title={folder}>
          {folder ? baseName(folder) : "none yet"}
        </span>
        <button type="button" aria-label="Choose… the folder" data-testid="batch-choose" onClick={() => setChoosing(true)}>
          Choose…
        </button>
      </div>
      <div class="field">
        <label for="batch-into">Results into</label>
        <input
          id="batch-into"
          type="text"
          placeholder="a folder of this session"
          spellcheck={false}
          value={into}
          data-testid="batch-into"
          onInput={(event) => setInto(event.currentTarget.value)}
        />
      </div>
      <div class="row">
        <button
          type="button"
          class="primary"
          disabled={!folder || running}
          data-testid="batch-start"
          onClick={() => void ask("batch", { folder, into: into.trim() })}
        >
          Start
        </button>
        {running && (
          <button type="button" data-testid="batch-stop" onClick={() => void ask("batch_stop", {})}>
            Stop
          </button>
        )}
      </div>
      {choosing && (
        <Dialog title="Choose a folder of motions" onClose={() => setChoosing(false)} testid="batch-folders">
          <FolderList
            onChoose={(name) => {
              setFolder(name);
              setChoosing(false);
            }}
          />
        </Dialog>
      )}
    </Section>
  );
}

/** The open folders and those below, to go into or to take. */
function FolderList(props: { onChoose: (folder: string) => void }) {
  const [folder, setFolder] = useState("");
  const [listing, setListing] = useState<Listing | null>(null);
  useEffect(() => void ask("browse", { folder }).then((found) => found && setListing(found)), [folder]);
  const count = listing?.files.filter((file) => file.kind === "motion").length ?? 0;
  return (
    <div class="browser">
      <div class="row">
        <button type="button" onClick={() => setFolder("")}>
          All open folders
        </button>
        {folder && (
          <button type="button" class="primary" data-testid="batch-take" onClick={() => props.onChoose(folder)}>
            Take {baseName(folder)} ({count} {count === 1 ? "motion" : "motions"} and those below)
          </button>
        )}
      </div>
      <ul class="list" aria-label="Folders" data-testid="batch-listing">
        {(listing?.folders ?? []).map((name) => (
          <li key={name}>
            <button type="button" class="item" title={name} onClick={() => setFolder(name)}>
              <span class="item-kind">folder</span>
              <span class="item-name">{folder ? baseName(name) : name}</span>
            </button>
          </li>
        ))}
      </ul>
      {listing && !listing.folders.length && <Empty>No folders below this one.</Empty>}
    </div>
  );
}

function Rows(props: { state: BatchState }) {
  const { folder, output, rows, total, running, error } = props.state;
  const name = (clip: string) => `${folder}/${clip}`;
  const now = state.value?.document.recipe.actor[0]?.source;
  return (
    <Section title="Clips" note={total ? `${rows.length} of ${total}${running ? "…" : ""}` : running ? "looking…" : ""}>
      <Message trouble={error} />
      {running && total > 0 && <progress max={total} value={rows.length} aria-label="Clips done" />}
      <ol class="list ranked" aria-label="Clips, worst first" data-testid="batch-rows">
        {ranked(rows).map((row) => (
          <li key={row.clip}>
            <button
              type="button"
              class="item"
              aria-current={now !== undefined && name(row.clip).endsWith(now) ? "true" : undefined}
              title={`Open ${row.clip}${row.words ? `: ${row.words}` : ""}`}
              data-testid={`batch-clip-${row.clip}`}
              onClick={() => void open(name(row.clip), "source")}
            >
              <span class={`item-kind verdict ${row.verdict.replace(" ", "-")}`}>
                <span aria-hidden="true">{SIGNS[row.verdict] ?? "○"}</span> {row.verdict}
              </span>
              <span class="item-name">{row.clip}</span>
              <span class="item-about">{row.words || (row.seconds ? seconds(row.seconds) : "")}</span>
            </button>
          </li>
        ))}
      </ol>
      {!running && total === 0 && !error && <Empty>No motion was found in {baseName(folder)}.</Empty>}
      {rows.length > 0 && (
        <p class="note">
          Results are in {output}. Click a clip to open it here and see or mend it. Started again, only what has changed is done
          again.
        </p>
      )}
    </Section>
  );
}
