/** Files in the folders that the server has open, and the samples. */

import { useEffect, useState } from "preact/hooks";
import type { Listing } from "../protocol";
import { ask } from "./changing";
import { Empty } from "./elements";
import { baseName, sizeText } from "./values";

export type Kind = "any" | "motion" | "character";

export interface BrowserProps {
  onChoose: (name: string, kind: Listing["files"][number]["kind"]) => void;
  /** What a button does with a file, for screen readers: "Open as motion". */
  verb: string;
  /** Which samples are worth showing. */
  samples?: Kind;
  /** Only files with meshes are wanted. */
  meshes?: boolean;
}

/** A list of samples and of files below the open folders; one is chosen by a click or Enter. */
export function Browser(props: BrowserProps) {
  const [tab, setTab] = useState<"samples" | "files">(props.meshes ? "files" : "samples");
  const [folder, setFolder] = useState("");
  const [listing, setListing] = useState<Listing | null>(null);
  const [sought, setSought] = useState("");
  const refresh = () => void ask("browse", { folder }).then((found) => found && setListing(found));
  useEffect(refresh, [folder]);

  const fits = (name: string) => name.toLowerCase().includes(sought.trim().toLowerCase());
  return (
    <div class="browser">
      <div class="row" role="group" aria-label="Where to look">
        {!props.meshes && (
          <>
            <button type="button" aria-pressed={tab === "samples"} data-testid="browse-samples" onClick={() => setTab("samples")}>
              Samples
            </button>
            <button type="button" aria-pressed={tab === "files"} data-testid="browse-files" onClick={() => setTab("files")}>
              Files
            </button>
          </>
        )}
        <input
          type="search"
          class="grow"
          aria-label="Find by name"
          placeholder="find…"
          value={sought}
          onInput={(event) => setSought(event.currentTarget.value)}
        />
      </div>
      {tab === "samples" && listing && <Samples {...props} listing={listing} fits={fits} />}
      {tab === "files" && listing && <Files {...props} listing={listing} fits={fits} onFolder={setFolder} onRefresh={refresh} />}
      {!listing && <Empty>Asking the server…</Empty>}
    </div>
  );
}

type Fits = (name: string) => boolean;

function Samples(props: BrowserProps & { listing: Listing; fits: Fits }) {
  const wanted = props.samples ?? "any";
  const shown = props.listing.samples.filter(
    (sample) => props.fits(`${sample.name} ${sample.about}`) && (wanted === "any" || sample.motion === (wanted === "motion")),
  );
  if (!shown.length) return <Empty>No sample is called that.</Empty>;
  return (
    <ul class="list" aria-label="Samples" data-testid="samples">
      {shown.map((sample) => (
        <li key={sample.name}>
          <button
            type="button"
            class="item"
            title={sample.about}
            data-testid={`sample-${sample.name}`}
            onClick={() => props.onChoose(`sample:${sample.name}`, sample.motion ? "motion" : "character")}
          >
            <span class="unseen">{props.verb}: </span>
            <span class="item-kind">{sample.motion ? "motion" : "body"}</span>
            <span class="item-name">{sample.name}</span>
            <span class="item-about">{sample.about}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Files(
  props: BrowserProps & { listing: Listing; fits: Fits; onFolder: (folder: string) => void; onRefresh: () => void },
) {
  const { listing } = props;
  const folders = listing.folders.filter(props.fits);
  const files = listing.files.filter((file) => props.fits(file.name) && (!props.meshes || file.mesh));
  const join = (name: string) => (listing.folder === "" ? name : `${listing.folder}/${name}`);
  return (
    <>
      <div class="row where">
        <button
          type="button"
          class="quiet"
          aria-label="All open folders"
          title="All open folders"
          onClick={() => props.onFolder("")}
        >
          ⌂
        </button>
        <span class="path" title={listing.folder || "open folders"}>
          {listing.folder || "open folders"}
        </span>
        <button type="button" class="quiet" aria-label="Look again" title="Look again" onClick={props.onRefresh}>
          ↻
        </button>
      </div>
      <ul class="list" aria-label={`Files in ${listing.folder || "the open folders"}`} data-testid="files">
        {folders.map((name) => (
          <li key={name}>
            <button type="button" class="item" title={name} onClick={() => props.onFolder(name)}>
              <span class="item-kind">folder</span>
              <span class="item-name">{listing.folder === "" ? name : baseName(name)}</span>
            </button>
          </li>
        ))}
        {files.map((file) => (
          <li key={file.name}>
            <button
              type="button"
              class="item"
              title={file.name}
              disabled={file.kind === "other"}
              data-testid={`file-${file.name}`}
              onClick={() => props.onChoose(join(file.name), file.kind)}
            >
              <span class="unseen">{props.verb}: </span>
              <span class="item-kind">{file.kind === "character" ? "body" : file.kind}</span>
              <span class="item-name">{baseName(file.name)}</span>
              <span class="item-about">{sizeText(file.size)}</span>
            </button>
          </li>
        ))}
      </ul>
      {!folders.length && !files.length && <Empty>Nothing here that can be opened. Drop files on the page to add them.</Empty>}
    </>
  );
}
