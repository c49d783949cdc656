/** The clock: playing, stepping and jumping. */

import { clock, duration, state } from "./store";

let last = 0;
/** Where the clock would be between two frames. */
let exact = 0;
/** Backwards while J is in charge. */
let direction = 1;

function tick(now: number): void {
  if (!clock.playing.value) return;
  const end = duration();
  const step = (direction * clock.speed.value * Math.min(now - last, 250)) / 1000;
  last = now;
  // Somebody may have gone elsewhere meanwhile.
  if (Math.abs(clock.time.value - snapped(exact)) > 1e-6) exact = clock.time.value;
  exact += step;
  if (exact > end || exact < 0) {
    if (clock.loop.value && end > 0) {
      exact = ((exact % end) + end) % end;
    } else {
      exact = Math.min(Math.max(exact, 0), end);
      clock.playing.value = false;
    }
  }
  // Between two frames there is nothing new to be seen, and drawing the same again would cost as much.
  clock.time.value = snapped(exact);
  window.requestAnimationFrame(tick);
}

export function play(forwards = true): void {
  direction = forwards ? 1 : -1;
  if (clock.playing.value || duration() <= 0) return;
  if (forwards && clock.time.value >= duration()) clock.time.value = 0;
  clock.playing.value = true;
  exact = clock.time.value;
  last = performance.now();
  window.requestAnimationFrame(tick);
}

export function pause(): void {
  if (!clock.playing.value) return;
  clock.playing.value = false;
  goTo(clock.time.value);
}

export function toggle(): void {
  if (clock.playing.value) pause();
  else play();
}

/** Go to the frame nearest to a time. */
export function goTo(time: number): void {
  clock.time.value = snapped(time);
}

/** Go some frames on or back. */
export function step(frames: number): void {
  clock.playing.value = false;
  goTo(clock.time.value + frames / (state.value?.fps || 30));
}

/** The time of the nearest frame, within the motion. */
export function snapped(time: number): number {
  const fps = state.value?.fps || 30;
  return Math.min(Math.max(Math.round(time * fps) / fps, 0), duration());
}

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4];

/** As the J, K and L keys of editing tables: again in the same direction is faster, the other way begins at once. */
export function shuttle(forwards: boolean): void {
  const same = clock.playing.value && direction === (forwards ? 1 : -1);
  if (same) clock.speed.value = SPEEDS.find((speed) => speed > clock.speed.value) ?? SPEEDS[SPEEDS.length - 1];
  else play(forwards);
}

export { SPEEDS };
