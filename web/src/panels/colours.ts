/** Colours that tell numbered things apart, legible on the light and the dark page. */

const LIGHT = ["#b3261e", "#1f5fbf", "#1b7a3d", "#8a4fbf", "#a35a00", "#00738a", "#a3276f", "#5b6400", "#4d4fc9", "#7a4a2b"];
const DARK = ["#ff8a80", "#82b1ff", "#7fd99a", "#cfa6ff", "#ffb866", "#6fd6e8", "#ff8fc7", "#cfd86b", "#a5a8ff", "#d9a98a"];

/** The colour of a pair of markers by its number. After ten they come again: the number beside tells them apart. */
export function pairColour(pair: number, dark: boolean): string {
  const colours = dark ? DARK : LIGHT;
  return colours[((pair % colours.length) + colours.length) % colours.length];
}
