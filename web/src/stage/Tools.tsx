/** The tools over the stage: what is shown, from where, and pictures of it. */

import { fetchFile } from "../download";
import { deeds } from "../keys";
import { look, report, send, state, view } from "../store";

/** `picture` takes a picture of the stage as it is. */
export function Tools({ picture }: { picture: () => Promise<Blob | null> }) {
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
      <Pictures picture={picture} />
    </div>
  );
}

function Pictures({ picture }: { picture: () => Promise<Blob | null> }) {
  const choose = async (event: Event) => {
    const menu = event.currentTarget as HTMLSelectElement;
    const [kind, format] = menu.value.split("/");
    menu.value = "";
    try {
      if (kind === "view") return save(await picture());
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
      <option value="picture/png">Filmstrip (PNG)</option>
      <option value="picture/svg">Filmstrip (SVG)</option>
      <option value="video/mp4">Video (MP4)</option>
      <option value="video/gif">Video (GIF)</option>
    </select>
  );
}

function save(blob: Blob | null): void {
  if (!blob) throw { message: "The picture could not be taken", hint: "try another browser" };
  const url = URL.createObjectURL(blob);
  fetchFile(url, "understudy.png");
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
