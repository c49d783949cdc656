/** The tools over the stage: what is shown, from where, and pictures of it. */

import { fetchFile } from "../download";
import { deeds } from "../keys";
import { look, report, send, state, view, type View } from "../store";

interface Captures {
  /** Takes a picture of the stage as it is. */
  picture: () => Promise<Blob | null>;
  /** Films the stage from the first frame to the last. */
  film: () => Promise<void>;
}

export function Tools(captures: Captures) {
  const now = view.value;
  const forced = state.value !== null && state.value.document.mode !== "retarget";
  const side = forced || now.layout === "side";
  const tick = (
    key: "source" | "meshes" | "plants" | "traces" | "mass" | "onion" | "follow",
    title: string,
    about: string,
  ) => (
    <button
      class="quiet"
      aria-pressed={now[key]}
      title={about}
      data-testid={`show-${key}`}
      onClick={() => look({ [key]: !now[key] })}
    >
      {title}
    </button>
  );
  return (
    <div class="tools" role="toolbar" aria-label="Stage">
      <div class="group">
        <button
          class="quiet"
          aria-pressed={side}
          disabled={forced}
          data-testid="layout"
          title="Source and result side by side or in one place (M)"
          onClick={() => deeds.layout()}
        >
          Side by side
        </button>
        {tick("source", "Source", "Show the source")}
        {tick("meshes", "Skins", "Show skins where there are any")}
      </div>
      <div class="group">
        {tick("plants", "Plants", "Places that are held, as cones")}
        {tick("traces", "Traces", "Paths of hands and feet")}
        {tick("mass", "Mass", "Centre of mass and support")}
        {tick("onion", "Onion", "Poses before and after")}
      </div>
      <div class="group">
        <button class="quiet" data-testid="fit" title="Fit everything into the picture (F)" onClick={() => deeds.fit()}>
          Fit
        </button>
        {tick("follow", "Follow", "The camera goes along with the result (G)")}
        <button
          class="quiet"
          data-testid="turn"
          title="Next view: front, side, top, corner (V)"
          onClick={() => deeds.turn()}
        >
          View
        </button>
      </div>
      <select
        aria-label="Materials and shadows"
        title="Fine: materials as in the file, reflections and shadows. Quick: fewer pictures are lost without a graphics card."
        data-testid="shading"
        value={now.shading}
        onChange={(event) => look({ shading: event.currentTarget.value as View["shading"] })}
      >
        <option value="auto">Light: auto</option>
        <option value="fine">Light: fine</option>
        <option value="quick">Light: quick</option>
      </select>
      <Pictures {...captures} />
    </div>
  );
}

function Pictures({ picture, film }: Captures) {
  const choose = async (event: Event) => {
    const menu = event.currentTarget as HTMLSelectElement;
    const [kind, format] = menu.value.split("/");
    menu.value = "";
    try {
      if (kind === "view") return format === "mp4" ? await film() : save(await picture());
      const { url } = await send("render", { kind: kind as "picture" | "video", format });
      fetchFile(url);
    } catch (trouble) {
      report(trouble);
    }
  };
  return (
    <select aria-label="Picture or video of the stage" data-testid="picture" value="" onChange={choose}>
      <option value="" hidden>
        Picture…
      </option>
      <option value="view/png">This view (PNG)</option>
      <option value="view/mp4">Film of this view, every frame (MP4)</option>
      <option value="picture/png">Filmstrip of sticks (PNG)</option>
      <option value="picture/svg">Filmstrip of sticks (SVG)</option>
      <option value="video/mp4">Video of sticks (MP4)</option>
      <option value="video/gif">Video of sticks (GIF)</option>
    </select>
  );
}

function save(blob: Blob | null): void {
  if (!blob) throw { message: "The picture could not be taken", hint: "try another browser" };
  const url = URL.createObjectURL(blob);
  fetchFile(url, "understudy.png");
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
