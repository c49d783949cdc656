/** Opening files: what they can be opened as, and files handed over from the user's own machine. */

import { signal } from "@preact/signals";
import type { Mode } from "../protocol";
import { address } from "../net";
import { report } from "../store";
import { ask } from "./changing";
import { addProp } from "./scenery";

export interface Role {
  as: string;
  label: string;
  about: string;
}

const ROLES: { [mode in Mode]: Role[] } = {
  retarget: [
    { as: "source", label: "motion", about: "the motion that is to be performed" },
    { as: "target", label: "character", about: "the character that is to perform it" },
    { as: "actor", label: "further actor", about: "another motion in the same scene" },
    { as: "prop", label: "prop", about: "a thing on the stage with the file's mesh" },
  ],
  transition: [
    { as: "first", label: "first clip", about: "the motion that is left" },
    { as: "second", label: "second clip", about: "the motion that is entered" },
  ],
  analogy: [
    { as: "a_example", label: "A's example", about: "a motion of A" },
    { as: "b_example", label: "B's example", about: "the same kind of motion, by B" },
    { as: "a_new", label: "A's new motion", about: "what B is to do in its own way" },
  ],
};
const RECIPE: Role = { as: "recipe", label: "recipe", about: "a recipe file: it becomes what you work on" };

/** What a file can be opened as while one works on something. */
export function rolesIn(mode: Mode): Role[] {
  return [...ROLES[mode], RECIPE];
}

/** Which of them is meant when nothing is said. */
export function usualRole(name: string, mode: Mode, hasSource: boolean, isCharacter = false): string {
  if (/\.toml$/i.test(name)) return "recipe";
  if (/\.(obj|stl)$/i.test(name)) return "prop";
  if (mode === "retarget" && (isCharacter || /\.(urdf|mjcf|xml)$/i.test(name))) return "target";
  if (mode === "retarget" && hasSource) return "target";
  return ROLES[mode][0].as;
}

/** Names of files that were handed over and wait to be told what they are. */
export const waiting = signal<string[]>([]);
export const uploading = signal<string | null>(null);

/** Use a file or sample. Tells whether it went well. */
export async function open(name: string, as: string): Promise<boolean> {
  if (as === "prop") {
    addProp("mesh", name);
    return true;
  }
  return (await ask("open", { name, as })) !== undefined;
}

/** Hand files over to the server; each then waits to be told what it is. */
export async function upload(files: Iterable<File>): Promise<void> {
  for (const file of files) {
    uploading.value = file.name;
    try {
      const reply = await fetch(address(`upload?name=${encodeURIComponent(file.name)}`), { method: "PUT", body: file });
      const said = await reply.json().catch(() => null);
      if (!reply.ok || typeof said?.name !== "string") {
        const hint = "formats are told by the ending; `understudy convert --help` lists them";
        throw said?.error ?? { message: `${file.name}: the server did not take it (${reply.status})`, hint };
      }
      waiting.value = [...waiting.value, said.name];
    } catch (trouble) {
      const lost = { message: `${file.name}: the server cannot be reached`, hint: "is `understudy studio` still running?" };
      report(trouble instanceof TypeError ? lost : trouble);
    } finally {
      uploading.value = null;
    }
  }
}
