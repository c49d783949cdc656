/** Files: open, save, export. */

import { useEffect, useState } from "preact/hooks";
import type { Json } from "../protocol";
import { ask, document_, keep, keepAll } from "./changing";
import { Browser } from "./browser";
import { Choice, Empty, Section } from "./elements";
import { ExportSection, Replace } from "./exporting";
import { Decisions } from "./notes";
import { open, rolesIn, upload, usualRole } from "./opening";
import { baseName } from "./values";
import { state } from "../store";

export function Files() {
  return (
    <>
      <Cast />
      <Decisions />
      <Open />
      <Section title="Recipe" open={false} note="all that is chosen, as a file">
        <SaveRecipe />
      </Section>
      <ExportSection />
      <Section title="Session" open={false}>
        <Session />
      </Section>
    </>
  );
}

/** Who is on the stage. */
function Cast() {
  const document = document_.value;
  if (!document) return <Empty>Waiting for the server…</Empty>;
  if (document.mode !== "retarget") return null;
  if (!document.recipe.actor.length) {
    return <Empty>Nothing is open yet. Choose a motion below, or drop a file anywhere on the page.</Empty>;
  }
  return (
    <ul class="cast" aria-label="Who performs whose motion">
      {document.recipe.actor.map((actor, index) => (
        <li key={index}>
          <span class="cast-name" title={actor.source}>
            {baseName(actor.source)}
          </span>
          <span aria-label="performed by"> → </span>
          <span class="cast-name" title={actor.target ?? "the source's own body"}>
            {actor.target ? baseName(actor.target) : "its own body"}
          </span>
          {actor.target && (
            <button
              type="button"
              class="quiet"
              aria-label={`${actor.name ?? baseName(actor.source)}: perform it with its own body`}
              title="Perform it with its own body"
              onClick={() => keep("own body", ["recipe", "actor", index, "target"], undefined)}
            >
              ×
            </button>
          )}
          {document.recipe.actor.length > 1 && (
            <button
              type="button"
              aria-label={`Remove ${actor.name || baseName(actor.source)}`}
              onClick={() => removeActor(index)}
            >
              Remove
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** An actor leaves the scene together with its contacts. */
function removeActor(index: number): void {
  const recipe = document_.value?.recipe;
  if (!recipe) return;
  const { name } = recipe.actor[index];
  const contacts = recipe.contact.filter((contact) => contact.actor !== name);
  keepAll(`remove ${name || `actor ${index + 1}`}`, [
    { op: "remove", path: ["recipe", "actor", index] },
    { op: "set", path: ["recipe", "contact"], value: contacts as unknown as Json },
  ]);
}

function Open() {
  const document = document_.value;
  const [chosen, setChosen] = useState<string | null>(null);
  const mode = document?.mode ?? "retarget";
  useEffect(() => setChosen(null), [mode]);
  if (!document) return null;
  const roles = rolesIn(mode);
  const as = chosen ?? "";
  const label = roles.find((role) => role.as === as)?.label ?? "what it is";
  return (
    <Section title="Open" id="section-open">
      <div class="field inline">
        <label for="open-as">Open as</label>
        <Choice
          id="open-as"
          label="Open as"
          value={as}
          testid="open-role"
          options={[{ value: "", label: "what fits" }, ...roles.map((role) => ({ value: role.as, label: role.label }))]}
          onChange={(value) => setChosen(value || null)}
        />
        <label class="button file-button">
          From this computer…
          <input
            type="file"
            multiple
            data-testid="upload"
            aria-label="Open files from this computer"
            onChange={(event) => {
              void upload([...(event.currentTarget.files ?? [])]);
              event.currentTarget.value = "";
            }}
          />
        </label>
      </div>
      <Browser
        verb={`Open as ${label}`}
        samples={as === "target" ? "character" : as === "" ? "any" : "motion"}
        onChoose={(name, kind) => {
          const usual = kind === "recipe" ? "recipe" : usualIn(name, kind);
          void open(name, as || usual);
        }}
      />
    </Section>
  );

  /** A motion chosen without saying what for is the source; a body is the target; the next empty part elsewhere. */
  function usualIn(name: string, kind: string): string {
    if (mode === "retarget") return kind === "character" ? "target" : kind === "motion" ? "source" : usualRole(name, mode, false);
    const parts = mode === "transition" ? document!.transition : document!.analogy;
    const free = roles.find((role) => (parts as unknown as Record<string, unknown>)[role.as] === "");
    return free?.as ?? roles[0].as;
  }
}

function SaveRecipe() {
  const first = state.value?.folders[0] ?? "";
  const [path, setPath] = useState<string | null>(null);
  const [saved, setSaved] = useState("");
  const shown = path ?? (first ? `${first}/studio.toml` : "studio.toml");
  const [exists, setExists] = useState("");
  const save = async (replace = false) => {
    setSaved("");
    setExists("");
    const done = await ask("save", { path: shown, replace });
    if (done?.exists) setExists(done.exists);
    else if (done) setSaved(done.path);
  };
  return (
    <>
      <div class="field">
        <label for="recipe-path">File to write</label>
        <input
          id="recipe-path"
          type="text"
          spellcheck={false}
          value={shown}
          data-testid="recipe-path"
          onInput={(event) => setPath(event.currentTarget.value)}
          onKeyDown={(event) => event.key === "Enter" && void save()}
        />
      </div>
      <div class="row">
        <button type="button" class="primary" data-testid="save-recipe" onClick={() => void save()}>
          Save recipe
        </button>
        <span class="soft">Load one with “Open as recipe” above.</span>
      </div>
      <Replace exists={exists} onReplace={() => void save(true)} onKeep={() => setExists("")} />
      <p role="status" class="done">
        {saved && `Written: ${saved}. Run it with “understudy retarget --recipe”.`}
      </p>
    </>
  );
}

function Session() {
  const [sure, setSure] = useState(false);
  const folders = state.value?.folders ?? [];
  return (
    <>
      <p class="note">Everything is kept on the server after each change; undo reaches back beyond a reload.</p>
      <ul class="plain-list" aria-label="Open folders">
        {folders.map((folder) => (
          <li class="path" key={folder} title={folder}>
            {folder}
          </li>
        ))}
      </ul>
      {!sure && (
        <button type="button" data-testid="fresh" onClick={() => setSure(true)}>
          Start afresh…
        </button>
      )}
      {sure && (
        <div class="row" role="group" aria-label="Start afresh?">
          <span>Close all that is open? Undo brings it back.</span>
          <button
            type="button"
            class="primary"
            data-testid="fresh-sure"
            onClick={() => {
              setSure(false);
              void ask("fresh", {});
            }}
          >
            Start afresh
          </button>
          <button type="button" onClick={() => setSure(false)}>
            Keep
          </button>
        </div>
      )}
    </>
  );
}
