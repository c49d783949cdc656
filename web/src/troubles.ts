/** What went wrong and is still on show. */

import { signal } from "@preact/signals";
import type { Trouble } from "./protocol";

export const troubles = signal<Trouble[]>([]);

/** Show what went wrong; `trouble` is what a request was rejected with. */
export function report(trouble: unknown): void {
  const known = trouble as Partial<Trouble> | null;
  const entry: Trouble =
    typeof known?.message === "string" && !(trouble instanceof Error)
      ? { message: known.message, hint: known.hint ?? "", path: known.path, solving: known.solving, consent: known.consent }
      : { message: `The page failed: ${String(trouble)}`, hint: "reload the page; nothing that was done is lost" };
  if (troubles.value.some((other) => other.message === entry.message)) return;
  troubles.value = [...troubles.value.slice(-3), entry];
}

export function dismiss(trouble: Trouble): void {
  troubles.value = troubles.value.filter((other) => other !== trouble);
}
