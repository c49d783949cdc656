/** The shadow of a body straight below it: dark where it touches the floor, fading with the height of what casts it. */

import { type Color, CustomBlending, MeshBasicMaterial, MinEquation, OneFactor } from "three";

/** Metres above the floor at which a part casts no shadow any more. */
const REACH = 0.9;

export interface ContactShadow {
  material: MeshBasicMaterial;
  /** Metres: the height of the floor. */
  floor: { value: number };
  /** Colours of the floor without a shadow and in the deepest one. */
  paint(floor: Color, shadow: Color): void;
}

/** Of what lies over each other the darkest is seen, so that a body of many layers casts one shadow. */
export function contactShadow(): ContactShadow {
  const floor = { value: 0 };
  const far = { value: null as Color | null };
  const material = new MeshBasicMaterial({
    depthWrite: false,
    blending: CustomBlending,
    blendEquation: MinEquation,
    blendSrc: OneFactor,
    blendDst: OneFactor,
    fog: false,
  });
  material.onBeforeCompile = (shader) => {
    Object.assign(shader.uniforms, { floorHeight: floor, farColour: far });
    shader.vertexShader = shader.vertexShader
      .replace("void main() {", "uniform float floorHeight;\nvarying float vHeight;\nvoid main() {")
      .replace("#include <project_vertex>", "vHeight = transformed.y - floorHeight;\n#include <project_vertex>");
    shader.fragmentShader = shader.fragmentShader
      .replace("void main() {", "uniform vec3 farColour;\nvarying float vHeight;\nvoid main() {")
      .replace(
        "#include <color_fragment>",
        `float away = clamp(vHeight / ${REACH.toFixed(2)}, 0.0, 1.0);
        diffuseColor.rgb = mix(diffuseColor.rgb, farColour, 0.85 * away);`,
      );
  };
  return {
    material,
    floor,
    paint: (plain, deepest) => {
      far.value = plain.clone();
      material.color.copy(deepest);
    },
  };
}
