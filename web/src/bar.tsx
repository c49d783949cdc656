/** The bar above: what is done, undo and redo, export, how the last solve went, light or dark. */

import { fetchFile } from "./download";
import { helpOpen } from "./keys";
import { writable } from "./panels/exporting";
import type { Mode } from "./protocol";
import { edit, look, progress, redo, report, result, send, state, undo, view } from "./store";

const MODES: [Mode, string][] = [
  ["retarget", "Retarget"],
  ["transition", "Transition"],
  ["analogy", "Analogy"],
];
const PANEL_OF_MODE: { [mode: string]: string } = {
  retarget: "inspector",
  transition: "transition",
  analogy: "analogy",
};

export function Bar() {
  const now = state.value;
  const mode = now?.document.mode ?? "retarget";
  return (
    <header class="bar">
      <h1>Understudy</h1>
      <div class="group" role="group" aria-label="What to do">
        {MODES.map(([name, title]) => (
          <button
            key={name}
            aria-pressed={mode === name}
            data-testid={`mode-${name}`}
            disabled={!now}
            onClick={() => {
              look({ panel: PANEL_OF_MODE[name] });
              if (mode !== name) void edit(title, [{ op: "set", path: ["mode"], value: name }]);
            }}
          >
            {title}
          </button>
        ))}
      </div>
      <div class="group">
        <button data-testid="open" title="Open a file or sample (panel 1)" onClick={() => look({ panel: "files" })}>
          Open…
        </button>
        <button
          data-testid="undo"
          disabled={!now?.undo}
          onClick={undo}
          title={now?.undo ? `Undo: ${now.undo} (Ctrl Z)` : "Nothing to undo"}
        >
          ↶ Undo
        </button>
        <button
          data-testid="redo"
          disabled={!now?.redo}
          onClick={redo}
          title={now?.redo ? `Redo: ${now.redo} (Ctrl Y)` : "Nothing to do again"}
        >
          ↷ Redo
        </button>
      </div>
      <Download />
      <div class="gap" />
      <Status />
      <Theme />
      <button
        aria-label="Keyboard and mouse"
        title="Keyboard and mouse (?)"
        data-testid="help"
        onClick={() => (helpOpen.value = true)}
      >
        ?
      </button>
    </header>
  );
}

/** What can be exported: what stands for the result, of several actors each one's. */
function exportable(): { value: string; label: string }[] {
  const { shown } = view.value;
  const found = result.value?.text ? writable() : [];
  return found.filter(({ value }) => value === shown || value.startsWith(`${shown}:`));
}

function Download() {
  const choose = async (event: Event) => {
    const menu = event.currentTarget as HTMLSelectElement;
    const [format, which] = menu.value.split("|");
    menu.value = "";
    try {
      const { url, not_kept } = await send("download", { format, which });
      fetchFile(url);
      if (not_kept.length > 0)
        report({ message: `Written, but the format does not keep: ${not_kept.join("; ")}`, hint: "" });
    } catch (trouble) {
      report(trouble);
    }
  };
  const results = exportable();
  const formats = (which: string) =>
    state.value?.formats.map(({ name, ending, about }) => (
      <option key={ending} value={`${ending}|${which}`} title={about}>
        {name} ({ending})
      </option>
    ));
  return (
    <select
      aria-label="Export the result as"
      data-testid="export"
      disabled={results.length === 0}
      title={results.length === 0 ? "There is no result to export yet: open a motion first" : "Export the result as a file"}
      onChange={choose}
      value=""
    >
      <option value="" hidden={results.length > 0}>
        {results.length > 0 ? "Export…" : "Nothing to export"}
      </option>
      {results.length === 1 && formats(results[0].value)}
      {results.length > 1 &&
        results.map(({ value, label }) => (
          <optgroup key={value} label={label}>
            {formats(value)}
          </optgroup>
        ))}
    </select>
  );
}

function Status() {
  const { text, share, busy } = progress.value;
  const outcome = result.value;
  const faults = (outcome?.faults.length ?? 0) > 0;
  const troubled =
    faults || (outcome?.conflicts.length ?? 0) > 0 || (outcome?.tracks.some((track) => !track.met) ?? false);
  const graded = /^verdict: (noticeable|bad)/.exec(outcome?.text ?? "")?.[1];
  const [sign, tone, word] = faults
    ? ["✕", "bad", "Failed"]
    : troubled
      ? ["!", "warn", "Not all met"]
      : graded
        ? ["!", "warn", "Solved, with defects"]
        : ["✓", "good", "Solved"];
  const peopled = (state.value?.bodies.length ?? 0) > 0;
  const words = busy ? text : outcome?.text || (peopled ? "Not solved yet" : "Open a motion to begin");
  const all = [words, ...(outcome?.faults ?? []), ...(outcome?.conflicts ?? []), ...(outcome?.warnings ?? [])].join(
    "\n",
  );
  return (
    <div class="status" data-testid="status" data-busy={busy} title={all}>
      {busy && <progress max={1} value={share > 0 ? share : undefined} aria-label="Progress" />}
      {!busy && outcome?.text && (
        <span class={`mark ${tone}`}>
          {sign} <span class="unseen">{word}: </span>
        </span>
      )}
      <span class="words">{words}</span>
      <span class="unseen" role="status">
        {busy ? "" : words}
      </span>
    </div>
  );
}

function Theme() {
  const { theme } = view.value;
  return (
    <select
      aria-label="Light or dark"
      data-testid="theme"
      value={theme}
      onChange={(event) => look({ theme: event.currentTarget.value as "auto" | "light" | "dark" })}
    >
      <option value="auto">Auto</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select>
  );
}
