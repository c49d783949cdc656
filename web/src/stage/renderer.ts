/** What makes the pictures. */

import { WebGLRenderer } from "three";

export function makeRenderer(canvas: HTMLCanvasElement): WebGLRenderer {
  const antialias = !drawnByProcessor();
  // Told that nothing shines through, the browser need not mix the stage with the page in every picture.
  const context = canvas.getContext("webgl2", { alpha: false, antialias, stencil: false });
  if (!context) throw new Error("no WebGL 2");
  return new WebGLRenderer({ canvas, context, antialias });
}

/** Whether pictures are made without a graphics card: smooth edges would then cost half of the pictures a second. */
function drawnByProcessor(): boolean {
  const pen = document.createElement("canvas").getContext("webgl2");
  const named = pen?.getExtension("WEBGL_debug_renderer_info");
  const name = pen && named ? String(pen.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "";
  pen?.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}
