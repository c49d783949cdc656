/** Results as files: downloaded, or written into a folder that the server has open; pictures and videos. */

import { useState } from "preact/hooks";
import { fetchFile } from "../download";
import { result, state } from "../store";
import { ask, document_ } from "./changing";
import { Choice, Empty, Section } from "./elements";

/** What can be written and measured: results and variants, of each actor where there are several. */
export function writable(): { value: string; label: string }[] {
  const bodies = state.value?.bodies.filter((body) => body.which.split(":")[0] === "result") ?? [];
  const variants = (result.value?.variants ?? []).filter((each) => each.which !== "result");
  return [{ which: "result", label: "result" }, ...variants].flatMap((way) =>
    bodies.map((body) => {
      const actor = body.which.slice("result".length);
      return { value: `${way.which}${actor}`, label: actor ? `${actor.slice(1)}: ${way.label}` : way.label };
    }),
  );
}

/** The endings that a result is likely wanted in: as the target's file, as the source's, or one that any body fits. */
function usualEndings(): string[] {
  const actor = document_.value?.mode === "retarget" ? document_.value.recipe.actor[0] : undefined;
  const named = [actor?.target, actor?.source].map((name) => name?.match(/\.\w+$/)?.[0].toLowerCase() ?? "");
  // An .amc goes with a skeleton file of its own, which few results have.
  return [...named.filter((ending) => ending !== ".amc"), ".bvh", ".glb"];
}

interface Said {
  done: string;
  lost: string[];
}

export function ExportSection() {
  const formats = state.value?.formats ?? [];
  const choices = writable();
  const [format, setFormat] = useState("");
  const [which, setWhich] = useState("result");
  const [said, setSaid] = useState<Said | null>(null);
  if (!choices.length || !result.value || !formats.length) {
    return (
      <Section title="Export" open={false}>
        <Empty>There is no result yet: open a motion first.</Empty>
      </Section>
    );
  }
  const chosen =
    [format, ...usualEndings()].map((ending) => formats.find((each) => each.ending === ending)).find((each) => each) ??
    formats[0];
  const from = choices.find((each) => each.value === which) ?? choices[0];
  const named = formats.map((each) => ({ value: each.ending, label: `${each.ending}  ${each.about || each.name}` }));
  return (
    <Section title="Export" id="section-export">
      <div class="field inline">
        <label for="export-format">Format</label>
        <Choice
          id="export-format"
          label="Format"
          value={chosen.ending}
          testid="export-format"
          options={named}
          onChange={setFormat}
        />
      </div>
      {choices.length > 1 && (
        <div class="field inline">
          <label for="export-which">What</label>
          <Choice id="export-which" label="What to write" value={from.value} options={choices} onChange={setWhich} />
        </div>
      )}
      <Download ending={chosen.ending} which={from.value} onSaid={setSaid} />
      <Render />
      <Write ending={chosen.ending} which={from.value} onSaid={setSaid} />
      <SaidView said={said} />
    </Section>
  );
}

function Download(props: { ending: string; which: string; onSaid: (said: Said | null) => void }) {
  const download = async () => {
    props.onSaid(null);
    const made = await ask("download", { format: props.ending, which: props.which });
    if (!made) return;
    fetchFile(made.url);
    props.onSaid({ done: `Downloaded as ${props.ending}.`, lost: made.not_kept });
  };
  return (
    <button type="button" class="primary" data-testid="download" onClick={() => void download()}>
      Download
    </button>
  );
}

function Write(props: { ending: string; which: string; onSaid: (said: Said | null) => void }) {
  const [path, setPath] = useState<string | null>(null);
  const folder = state.value?.folders[0];
  const name = `${props.which.replace(/[^\w-]+/g, "_")}${props.ending.replace(/^\.?/, ".")}`;
  const shown = path ?? (folder ? `${folder}/${name}` : name);
  const [exists, setExists] = useState("");
  const write = async (replace = false) => {
    props.onSaid(null);
    setExists("");
    const made = await ask("export", { path: shown, which: props.which, replace });
    if (made?.exists) setExists(made.exists);
    else if (made) props.onSaid({ done: `Written: ${made.path}.`, lost: made.not_kept });
  };
  return (
    <details class="more">
      <summary>Write into a folder of the server</summary>
      <div class="row">
        <input
          class="grow"
          type="text"
          aria-label="File to write"
          spellcheck={false}
          data-testid="export-path"
          value={shown}
          onInput={(event) => setPath(event.currentTarget.value)}
        />
        <button type="button" data-testid="export-write" onClick={() => void write()}>
          Write
        </button>
      </div>
      <Replace exists={exists} onReplace={() => void write(true)} onKeep={() => setExists("")} />
    </details>
  );
}

/** Asks before a file is replaced that the studio did not write. */
export function Replace(props: { exists: string; onReplace: () => void; onKeep: () => void }) {
  if (!props.exists) return null;
  return (
    <div class="row" role="alert" data-testid="replace-ask">
      <span>There is a file {props.exists} that this session did not write.</span>
      <button type="button" data-testid="replace" onClick={props.onReplace}>
        Replace it
      </button>
      <button type="button" onClick={props.onKeep}>
        Keep it
      </button>
    </div>
  );
}

/** What was written, and what the format could not keep. */
function SaidView(props: { said: Said | null }) {
  const { said } = props;
  return (
    <div role="status" data-testid="export-said">
      {said && <p class="done">{said.done}</p>}
      {said && said.lost.length > 0 && (
        <>
          <p class="note">Not kept in this format:</p>
          <ul class="plain-list">
            {said.lost.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

const RENDERINGS = [
  { value: "picture png", label: "picture (PNG)" },
  { value: "picture svg", label: "picture (SVG)" },
  { value: "video mp4", label: "video (MP4)" },
  { value: "video gif", label: "video (GIF)" },
];

function Render() {
  const [choice, setChoice] = useState(RENDERINGS[0].value);
  const [busy, setBusy] = useState(false);
  const render = async () => {
    const [kind, format] = choice.split(" ") as ["picture" | "video", string];
    setBusy(true);
    const made = await ask("render", { kind, format });
    setBusy(false);
    if (made) fetchFile(made.url);
  };
  return (
    <div class="field inline">
      <label for="render-what">Of source and result</label>
      <Choice
        id="render-what"
        label="Picture or video"
        value={choice}
        options={RENDERINGS}
        onChange={setChoice}
        testid="render-what"
      />
      <button type="button" disabled={busy} data-testid="render" onClick={() => void render()}>
        {busy ? "Being made…" : "Make"}
      </button>
    </div>
  );
}
