/** Light or dark: as the page is told, or as the system is. */

import { computed, effect, signal } from "@preact/signals";
import { view } from "./store";

const asked = window.matchMedia("(prefers-color-scheme: dark)");
const system = signal(asked.matches);
asked.addEventListener("change", () => (system.value = asked.matches));

export const dark = computed(() => view.value.theme === "dark" || (view.value.theme === "auto" && system.value));

effect(() => {
  document.documentElement.dataset.theme = dark.value ? "dark" : "light";
});

/** A colour of the style sheet, for canvases. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
