/** Images of materials: each is fetched and unpacked once, and kept as long as the page is open. */

import { LinearMipmapLinearFilter, LinearMipmapNearestFilter, NoColorSpace, RepeatWrapping, SRGBColorSpace, Texture } from "three";
import { address } from "../net";

const kept = new Map<string, Promise<Texture | null>>();

/** A texture of an image of the server, `smooth` between its sizes; null if it is gone or damaged: what it lay on then shows its plain colour. */
export function fetchImage(url: string, colours: boolean, smooth: boolean): Promise<Texture | null> {
  const key = `${url} ${colours} ${smooth}`;
  const known = kept.get(key) ?? load(url, colours, smooth).catch(() => null);
  kept.set(key, known);
  void known.then((texture) => texture || kept.delete(key));
  return known;
}

async function load(url: string, colours: boolean, smooth: boolean): Promise<Texture | null> {
  const answer = await fetch(address(url));
  if (answer.status !== 200) return null;
  // Texture coordinates grow upwards, and bitmaps are not turned over on their way to the graphics card.
  const image = await createImageBitmap(await answer.blob(), { imageOrientation: "flipY", colorSpaceConversion: "none" });
  const texture = new Texture(image);
  texture.flipY = false;
  texture.colorSpace = colours ? SRGBColorSpace : NoColorSpace;
  texture.wrapS = texture.wrapT = RepeatWrapping;
  texture.minFilter = smooth ? LinearMipmapLinearFilter : LinearMipmapNearestFilter;
  texture.needsUpdate = true;
  return texture;
}
