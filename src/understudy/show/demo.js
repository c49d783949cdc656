// The drop zone of the demo page: puts the names of dropped files into the commands. Files are not read.

const drop = document.getElementById("drop");
const named = { motion: "walk.bvh", character: "hero.glb", result: "hero_walk.glb", folder: "motions" };
const MOTIONS = [".bvh", ".amc", ".npz", ".csv", ".pkl", ".npy", ".vrma"];

// A name as a shell takes it.
const quoted = (name) => (/^[\w./-]+$/.test(name) && !name.startsWith("-") ? name : "'./" + name.replaceAll("'", "'\\''") + "'");

function take(files) {
  for (const [number, file] of [...files].entries()) {
    const ending = (file.name.match(/\.[^.]*$/) ?? [""])[0].toLowerCase();
    const isMotion = MOTIONS.includes(ending) || (files.length === 2 && number === 0 && !MOTIONS.some((other) => files[1].name.toLowerCase().endsWith(other)));
    named[isMotion ? "motion" : "character"] = file.name;
  }
  const stem = (name) => name.replace(/\.[^.]*$/, "");
  const ending = (named.character.match(/\.[^.]*$/) ?? [".glb"])[0];
  named.result = stem(named.character) + "_" + stem(named.motion) + (/\.(urdf|xml|mjcf)$/i.test(ending) ? ".csv" : ending);
  for (const code of document.querySelectorAll("code[data-command]")) {
    code.textContent = code.dataset.command.replace(/\{(\w+)\}/g, (_, key) => quoted(named[key]));
  }
  drop.firstElementChild.textContent = [...files].map((file) => file.name).join(" and ") + ": run the commands below in their folder";
}

for (const name of ["dragover", "drop"]) document.addEventListener(name, (event) => event.preventDefault());
drop.addEventListener("dragover", () => drop.classList.add("over"));
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  drop.classList.remove("over");
  if (event.dataTransfer.files.length) take(event.dataTransfer.files);
});
