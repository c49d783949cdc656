/** The keyboard: one table, which the page obeys and the help shows. */

import { signal } from "@preact/signals";
import { goTo, pause, shuttle, step, toggle } from "./playback";
import { clock, duration, look, redo, undo, view } from "./store";

export interface Key {
  /** As `KeyboardEvent.key` has it, lower case, after "ctrl+" and "shift+". */
  keys: string[];
  /** As it is printed. */
  shown: string[];
  about: string;
  group: "Time" | "Stage" | "Timeline" | "Page";
  /** Null where another part of the page listens, and this only tells of it. */
  act: (() => void) | null;
}

export const helpOpen = signal(false);

/** What the stage and the timeline put in once they are there. */
export const deeds: { [name: string]: () => void } = {};
const deed = (name: string) => () => deeds[name]?.();

export const KEYS: Key[] = [
  { keys: [" "], shown: ["Space"], about: "play, pause", group: "Time", act: toggle },
  { keys: ["arrowleft"], shown: ["←"], about: "a frame back", group: "Time", act: () => step(-1) },
  { keys: ["arrowright"], shown: ["→"], about: "a frame on", group: "Time", act: () => step(1) },
  { keys: ["shift+arrowleft"], shown: ["Shift ←"], about: "ten frames back", group: "Time", act: () => step(-10) },
  { keys: ["shift+arrowright"], shown: ["Shift →"], about: "ten frames on", group: "Time", act: () => step(10) },
  { keys: ["home"], shown: ["Home"], about: "first frame", group: "Time", act: () => goTo(0) },
  { keys: ["end"], shown: ["End"], about: "last frame", group: "Time", act: () => goTo(duration()) },
  { keys: ["j"], shown: ["J"], about: "play backwards; again: faster", group: "Time", act: () => shuttle(false) },
  { keys: ["k"], shown: ["K"], about: "stop", group: "Time", act: pause },
  { keys: ["l"], shown: ["L"], about: "play; again: faster", group: "Time", act: () => shuttle(true) },
  { keys: ["o"], shown: ["O"], about: "loop", group: "Time", act: () => void (clock.loop.value = !clock.loop.value) },
  { keys: ["f"], shown: ["F"], about: "fit everything into the picture", group: "Stage", act: deed("fit") },
  {
    keys: ["g"],
    shown: ["G"],
    about: "follow the result",
    group: "Stage",
    act: () => look({ follow: !view.value.follow }),
  },
  { keys: ["v"], shown: ["V"], about: "next view: front, side, top, corner", group: "Stage", act: deed("turn") },
  { keys: ["m"], shown: ["M"], about: "overlay, side by side", group: "Stage", act: deed("layout") },
  { keys: ["n"], shown: ["N"], about: "choose the next hand, foot or other end", group: "Stage", act: deed("next") },
  {
    keys: [],
    shown: ["Alt ←", "→", "↑", "↓"],
    about: "move what is chosen 1 cm in the picture (Shift: 5 cm); turn a bone of the neutral pose 2° (Shift: 10°)",
    group: "Stage",
    act: null,
  },
  { keys: ["c"], shown: ["C"], about: "cut the chosen interval at the playhead", group: "Timeline", act: deed("cut") },
  {
    keys: ["+", "shift++"],
    shown: ["+"],
    about: "add a contact at the playhead to the chosen row",
    group: "Timeline",
    act: deed("add"),
  },
  {
    keys: ["shift+c"],
    shown: ["Shift C"],
    about: "join the chosen intervals, or the chosen one and the next",
    group: "Timeline",
    act: deed("join"),
  },
  { keys: ["["], shown: ["["], about: "start of what is chosen: to the playhead", group: "Timeline", act: deed("toStart") },
  { keys: ["]"], shown: ["]"], about: "end of what is chosen: to the playhead", group: "Timeline", act: deed("toEnd") },
  { keys: ["ctrl+a"], shown: ["Ctrl A"], about: "choose all intervals of the row", group: "Timeline", act: deed("chooseRow") },
  { keys: ["q"], shown: ["Q"], about: "graph of a joint, or rows", group: "Timeline", act: deed("graph") },
  { keys: [], shown: ["Ctrl click"], about: "a second joint or a prop, to pin to it", group: "Stage", act: null },
  { keys: [], shown: ["Ctrl click", "Ctrl Space"], about: "choose one interval more or less", group: "Timeline", act: null },
  { keys: [], shown: ["Shift click"], about: "choose all intervals up to it", group: "Timeline", act: null },
  { keys: [], shown: ["drag over a row"], about: "paint a contact of its point", group: "Timeline", act: null },
  {
    keys: ["delete", "backspace"],
    shown: ["Delete"],
    about: "delete what is chosen",
    group: "Timeline",
    act: deed("remove"),
  },
  { keys: [], shown: ["←", "→"], about: "on an interval: its end, a frame", group: "Timeline", act: null },
  { keys: [], shown: ["Alt ←", "→"], about: "on an interval: its start", group: "Timeline", act: null },
  { keys: [], shown: ["Shift ←", "→"], about: "on an interval: all of it", group: "Timeline", act: null },
  { keys: ["ctrl+z"], shown: ["Ctrl Z"], about: "undo", group: "Page", act: undo },
  { keys: ["ctrl+shift+z", "ctrl+y"], shown: ["Ctrl Shift Z", "Ctrl Y"], about: "redo", group: "Page", act: redo },
  { keys: [], shown: ["1", "…", "9"], about: "panels", group: "Page", act: null },
  { keys: ["escape"], shown: ["Esc"], about: "choose nothing, give a drag up", group: "Page", act: deed("escape") },
  { keys: ["?", "shift+?"], shown: ["?"], about: "this list", group: "Page", act: () => void (helpOpen.value = true) },
];

const BY_KEY = new Map(KEYS.flatMap((entry) => entry.keys.map((key) => [key, entry.act] as const)));
const TYPING = "input:not([type=range]):not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]";
const PRESSED_BY_SPACE = "button, summary, a, [role=tab], input";
const MOVED_BY_ARROWS = "[role=tab], [role=separator], [role=slider], [role=tree], [role=treeitem], input";

/** The button clicked last: it has the focus, but who presses the space bar then wants to play. */
let clicked: Element | null = null;

function meantForOthers(event: KeyboardEvent, key: string): boolean {
  const target = event.target as Element | null;
  if (!target?.closest) return false;
  if (target.closest("dialog")) return true;
  if (key.startsWith("ctrl+")) return target.matches(TYPING);
  if (target.closest(TYPING)) return true;
  const pressed = target.closest(PRESSED_BY_SPACE);
  if (key === " ") return pressed !== null && pressed !== clicked;
  if (/arrow|home|end/.test(key)) return target.closest(MOVED_BY_ARROWS) !== null;
  return false;
}

/** Listen for keys; `panels` opens the panel of a number. */
export function listen(panels: (number: number) => void): void {
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey) return;
    const control = event.ctrlKey || event.metaKey ? "ctrl+" : "";
    const key = `${control}${event.shiftKey ? "shift+" : ""}${event.key.toLowerCase()}`;
    if (meantForOthers(event, key)) return;
    const act = BY_KEY.get(key);
    if (act) act();
    else if (/^[1-9]$/.test(key)) panels(Number(key));
    else return;
    event.preventDefault();
  });
  window.addEventListener("pointerdown", (event) => {
    clicked = (event.target as Element).closest("button");
  });
  window.addEventListener("keyup", (event) => {
    if (event.key === "Tab") clicked = null;
    if (event.key === " " && !meantForOthers(event, " ")) event.preventDefault();
  });
}
