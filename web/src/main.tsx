/** The studio's page. */

import { render } from "preact";
import "./theme.css";
import "./layout.css";
import { App } from "./layout";
import { stage } from "./stage/Stage";
import { clock, connected, motions, progress, quality, result, selection, start, state, troubles, view } from "./store";

declare global {
  interface Window {
    /** For tests and curious people: to be read, not changed. */
    understudy: object;
  }
}

window.understudy = {
  ...{ state, result, clock, motions, view, selection, progress, troubles, quality, connected },
  /** Where a joint or end of a body is drawn, pixels of the page; null: not to be seen. */
  screen: (which: string, joint: string) => stage.now?.onPage(which, joint) ?? null,
  /** Pictures of the stage drawn since the page was opened. */
  drawn: () => stage.now?.drawn ?? 0,
  /** The arrow or ring of a handle that is under the pointer; null: none. */
  grip: () => stage.now?.grips.controls.axis ?? null,
};
start();
render(<App />, document.getElementById("studio") as HTMLElement);
