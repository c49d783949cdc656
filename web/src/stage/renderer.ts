/** What makes the pictures. */

import { WebGLRenderer } from "three";

/** What draws on a canvas; null where the canvas should be another one that has smooth edges.
 *
 * A canvas keeps the edges it began with. A graphics card gives smooth ones for nothing; without one they would cost
 * half of the pictures a second, and beginning twice a good part of the time until the first picture.
 */
export function makeRenderer(canvas: HTMLCanvasElement, smooth: boolean): Drawing | null {
  // Told that nothing shines through, the browser need not mix the stage with the page in every picture.
  const context = canvas.getContext("webgl2", { alpha: false, antialias: smooth, stencil: false });
  if (!context) throw new Error("no WebGL 2");
  const slow = drawnByProcessor(context);
  if (!slow && !smooth) {
    context.getExtension("WEBGL_lose_context")?.loseContext();
    return null;
  }
  const renderer = new WebGLRenderer({ canvas, context, antialias: smooth });
  // Asking whether a shader is good waits until it is made: those of a release are, and the rest of the page goes on.
  renderer.debug.checkShaderErrors = import.meta.env.DEV;
  return { renderer, slow };
}

export interface Drawing {
  renderer: WebGLRenderer;
  /** Whether pictures are made without a graphics card. */
  slow: boolean;
}

function drawnByProcessor(context: WebGL2RenderingContext): boolean {
  const named = context.getExtension("WEBGL_debug_renderer_info");
  const name = named ? String(context.getParameter(named.UNMASKED_RENDERER_WEBGL)) : "";
  return /swiftshader|llvmpipe|software/i.test(name);
}
