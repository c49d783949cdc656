/** A film of the stage as it looks: every frame of the motion is drawn, kept and sent, however long that takes. */

import { fetchFile } from "../download";
import { address } from "../net";
import { pause } from "../playback";
import type { Trouble } from "../protocol";
import { clock, duration, progress, report, send, state } from "../store";
import type { Theatre } from "./theatre";

/** Milliseconds between words on how far it is. */
const TOLD = 200;
let giving = false;
let filming = false;

/** Stop filming; false: nothing is being filmed. */
export function stopFilming(): boolean {
  giving = filming;
  return filming;
}

export async function shoot(theatre: Theatre): Promise<void> {
  if (filming) return;
  pause();
  const before = clock.time.value;
  filming = true;
  giving = false;
  try {
    await film(theatre);
  } catch (trouble) {
    report(trouble);
  } finally {
    filming = false;
    clock.time.value = before;
    progress.value = { text: "", share: 1, busy: false };
  }
}

async function film(theatre: Theatre): Promise<void> {
  const fps = state.value?.fps || 30;
  const last = Math.round(duration() * fps);
  const { film: name } = await send("film_begin", {});
  let told = 0;
  for (let frame = 0; frame <= last && !giving; frame++) {
    clock.time.value = Math.min(frame / fps, duration());
    if (performance.now() - told > TOLD) {
      told = performance.now();
      progress.value = { text: `filming frame ${frame} of ${last}; Esc stops`, share: frame / (last + 1), busy: true };
    }
    const picture = await theatre.picture();
    if (!picture) throw { message: "A frame could not be drawn", hint: "try another browser" } satisfies Trouble;
    const answer = await fetch(address(`film/${name}/${frame}`), { method: "PUT", body: picture });
    if (!answer.ok) throw ((await answer.json()) as { error: Trouble }).error;
  }
  progress.value = { text: "joining the frames", share: 1, busy: true };
  const { url } = await send("film_end", { film: name, fps, cancel: giving });
  if (url) fetchFile(url);
}
