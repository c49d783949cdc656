/** The light that comes from all around: a pale sky, a warm floor, and three soft lamps, made here and not a photograph. */

import {
  BackSide,
  BufferAttribute,
  Color,
  Mesh,
  MeshBasicMaterial,
  PlaneGeometry,
  PMREMGenerator,
  Scene,
  SphereGeometry,
  type Texture,
  type WebGLRenderer,
} from "three";

const SKY = new Color("#dfe8f2");
const HORIZON = new Color("#b9b4ac");
const GROUND = new Color("#6d655c");
/** Where lamps are, how large, and how bright: one in front, one at the side, one behind that draws an edge. */
const LAMPS: [place: [number, number, number], size: number, brightness: number][] = [
  [[4, 6, 5], 5, 5],
  [[-7, 3, 2], 4, 2],
  [[-1, 5, -8], 4, 3.5],
];

/** Light for physically based materials, as a texture. */
export function makeEnvironment(renderer: WebGLRenderer): Texture {
  const room = new Scene();
  room.add(dome());
  for (const [place, size, brightness] of LAMPS) {
    const lamp = new Mesh(new PlaneGeometry(size, size), new MeshBasicMaterial({ side: BackSide }));
    lamp.material.color.setScalar(brightness);
    lamp.position.fromArray(place);
    lamp.lookAt(0, 0, 0);
    lamp.rotateY(Math.PI);
    room.add(lamp);
  }
  const generator = new PMREMGenerator(renderer);
  const { texture } = generator.fromScene(room, 0.03);
  generator.dispose();
  room.traverse((part) => {
    if (!(part instanceof Mesh)) return;
    part.geometry.dispose();
    part.material.dispose();
  });
  return texture;
}

/** A sphere seen from inside, whose colour goes from the floor over the horizon to the sky. */
function dome(): Mesh {
  const geometry = new SphereGeometry(20, 16, 24);
  const places = geometry.getAttribute("position");
  const colours = new Float32Array(places.count * 3);
  const colour = new Color();
  for (let corner = 0; corner < places.count; corner++) {
    const up = places.getY(corner) / 20;
    colour.copy(HORIZON).lerp(up > 0 ? SKY : GROUND, Math.sqrt(Math.abs(up)));
    colour.toArray(colours, 3 * corner);
  }
  geometry.setAttribute("color", new BufferAttribute(colours, 3));
  return new Mesh(geometry, new MeshBasicMaterial({ side: BackSide, vertexColors: true }));
}
