/** The panels of the dock, in the order of their keys. */

import type { ComponentType } from "preact";
import "./panels.css";
import { Analogy } from "./analogy";
import { BatchPanel } from "./batch";
import { BodyPanel } from "./body";
import { Bones } from "./bones";
import { Files } from "./files";
import { Inspector } from "./inspector";
import { QualityPanel } from "./quality";
import { Solving } from "./solving";
import { TransitionPanel } from "./transition";

export { Dropping } from "./dropping";

export const PANELS: { id: string; title: string; component: ComponentType }[] = [
  { id: "files", title: "Files", component: Files },
  { id: "inspector", title: "Inspector", component: Inspector },
  { id: "body", title: "Body", component: BodyPanel },
  { id: "correspondence", title: "Bones", component: Bones },
  { id: "transition", title: "Transition", component: TransitionPanel },
  { id: "analogy", title: "Analogy", component: Analogy },
  { id: "variants", title: "Solving", component: Solving },
  { id: "quality", title: "Quality", component: QualityPanel },
  { id: "batch", title: "Batch", component: BatchPanel },
];
