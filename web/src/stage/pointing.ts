/** The pointer and the keys on the stage: what is under the pointer, choosing it, moving what is chosen. */

import type { Signal } from "@preact/signals";
import { Vector3 } from "three";
import { goTo } from "../playback";
import { clock, look, select, selection, state } from "../store";
import type { Picked } from "./picking";
import type { Theatre } from "./theatre";

export interface Hover {
  label: string;
  x: number;
  y: number;
}

/** Pixels that a click may slip. */
const SLIP = 4;

export function pointer(canvas: HTMLCanvasElement, theatre: Theatre, hover: Signal<Hover | null>): () => void {
  let pressed: { x: number; y: number } | null = null;
  const at = (event: PointerEvent) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top] as const;
  };
  const listeners: [string, (event: PointerEvent) => void][] = [
    ["pointerdown", ({ clientX, clientY }) => (pressed = { x: clientX, y: clientY })],
    [
      "pointermove",
      (event) => {
        const picked = event.buttons === 0 && !clock.playing.value ? theatre.pick(...at(event)) : null;
        if (picked?.label === hover.value?.label && picked?.x === hover.value?.x && picked?.y === hover.value?.y)
          return;
        hover.value = picked ? { label: picked.label, x: picked.x, y: picked.y } : null;
        canvas.style.cursor = picked ? "pointer" : "";
      },
    ],
    ["pointerleave", () => (hover.value = null)],
    [
      "pointerup",
      (event) => {
        const still = pressed && Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) < SLIP;
        pressed = null;
        if (still && event.button === 0) choose(theatre, theatre.pick(...at(event)), event.ctrlKey || event.metaKey);
      },
    ],
  ];
  for (const [name, listener] of listeners) canvas.addEventListener(name, listener as EventListener);
  return () => listeners.forEach(([name, listener]) => canvas.removeEventListener(name, listener as EventListener));
}

/** With Ctrl, a joint or prop besides the joint that is chosen: one can be pinned to the other. */
function chooseMore(picked: Picked): boolean {
  const now = selection.value;
  if (now.kind === "joint" && picked.kind === "joint" && (picked.which !== now.which || picked.joint !== now.joint))
    select({ ...now, prop: undefined, other: { which: picked.which, joint: picked.joint } });
  else if (now.kind === "joint" && picked.kind === "prop") select({ ...now, other: undefined, prop: picked.name });
  else if (now.kind === "prop" && picked.kind === "joint")
    select({ kind: "joint", which: picked.which, joint: picked.joint, prop: propNames()[Number(now.path?.[2])] });
  else return false;
  look({ panel: "inspector" });
  return true;
}

const propNames = (): string[] => (state.value?.document.recipe.prop ?? []).map((prop) => String(prop.name));

function choose(theatre: Theatre, picked: Picked | null, more: boolean): void {
  if (picked && more && chooseMore(picked)) return;
  if (!picked) {
    if (!theatre.grips.hovered) select({ kind: "none" });
  } else if (picked.kind === "handle") {
    theatre.chooseHandle(picked.handle);
  } else if (picked.kind === "joint") {
    select({ kind: "joint", which: picked.which, joint: picked.joint });
  } else if (picked.kind === "prop") {
    if (theatre.grips.hovered) return;
    select({ kind: "prop", path: ["recipe", "prop", picked.number] });
    look({ panel: "inspector" });
  } else {
    const { track } = picked;
    if (clock.time.value < track.start || clock.time.value > track.end) goTo(track.start);
    select({ kind: "track", path: track.path ?? undefined });
    if (track.path) look({ panel: "inspector" });
  }
}

const WAYS: { [key: string]: [number, number] } = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, 1],
  ArrowDown: [0, -1],
};

/** Alt and an arrow key: what is chosen moves in the picture. */
export function nudge(event: KeyboardEvent, theatre: Theatre): void {
  const way = WAYS[event.key];
  const elsewhere = (event.target as Element).closest("input, textarea, select, .timeline, .dock, [role=separator]");
  if (!way || !event.altKey || elsewhere) return;
  theatre.refresh();
  if (!theatre.grips.active) return;
  const size = event.shiftKey ? 0.05 : 0.01;
  const { matrixWorld } = theatre.camera.lens;
  const right = new Vector3().setFromMatrixColumn(matrixWorld, 0).setY(0).normalize();
  const up = new Vector3(0, 1, 0);
  const axis = way[0] ? up.clone() : right.clone();
  const angle = ((way[0] || -way[1]) * (event.shiftKey ? 10 : 2) * Math.PI) / 180;
  // What only goes over the floor goes away and near instead of up and down.
  if (theatre.grips.active.axes === "xz") up.crossVectors(up, right);
  theatre.grips.nudge(right.multiplyScalar(way[0] * size).addScaledVector(up, way[1] * size), axis, angle);
  event.preventDefault();
}
