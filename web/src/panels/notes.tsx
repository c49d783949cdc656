/** What is wrong with a result, and what was found and decided on the way to it. */

import { result, state } from "../store";

/** Why a result is no success, what contradicts what, and what else to know of it. */
export function Faults() {
  const found = result.value;
  const entries = [
    ...(found?.faults ?? []).map((text) => ({ sign: "✗", word: "fault", text, bad: true })),
    ...(found?.conflicts ?? []).map((text) => ({ sign: "✗", word: "conflict", text, bad: true })),
    ...(found?.warnings ?? []).map((text) => ({ sign: "!", word: "warning", text, bad: false })),
  ];
  if (!entries.length) return null;
  return (
    <ul class="faults" aria-label="What is wrong with the result" data-testid="faults">
      {entries.map((entry, index) => (
        <li key={index}>
          <span class={entry.bad ? "sign bad" : "sign warn"} role="img" aria-label={entry.word}>
            {entry.sign}
          </span>
          <span>{entry.text}</span>
        </li>
      ))}
    </ul>
  );
}

/** A sentence for each thing that was found or chosen by itself. */
export function Decisions() {
  const notes = state.value?.notes ?? [];
  if (!notes.length) return null;
  return (
    <details class="more" open={notes.length < 4}>
      <summary>Found and decided by itself ({notes.length})</summary>
      <ul class="plain-list">
        {notes.map((note, index) => (
          <li key={index}>{note}</li>
        ))}
      </ul>
    </details>
  );
}
