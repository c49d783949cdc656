/** Clips of a batch in the order in which they are worth looking at. */

import type { BatchState } from "../protocol";

/** From what needs looking at most to what needs it least. */
const WORST_FIRST = ["failed", "bad", "noticeable", "not graded", "good"];

/** What stands beside a verdict, so that it is not told by colour alone. */
export const SIGNS: { [verdict: string]: string } = { failed: "✕", bad: "■", noticeable: "▲", "not graded": "○", good: "●" };

/** The worst verdict first, and in it by name. */
export function ranked(rows: BatchState["rows"]): BatchState["rows"] {
  const rank = (verdict: string) => WORST_FIRST.indexOf(verdict);
  return [...rows].sort((a, b) => rank(a.verdict) - rank(b.verdict) || a.clip.localeCompare(b.clip));
}
