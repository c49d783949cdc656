/** How badly a track is met over time: low and plain while it is met, high and hatched where it is not.
 *
 * Drawn as shapes of the page: a canvas for each track would be a layer for each, put together anew in every picture.
 */

interface Shown {
  /** Violation in tolerances in even bins over the whole motion; null where it does not hold. */
  errors: (number | null)[];
  span: [number, number];
  /** Seconds: the whole motion. */
  length: number;
}

/** Pixels: as high as a strip is. */
const HEIGHT = 9;

export function Strip({ errors, span: [from, to], length }: Shown) {
  const at = (bin: number) => (100 * ((bin / errors.length) * length - from)) / (to - from);
  return (
    <svg class="strip" aria-hidden="true">
      {bars(errors).map(({ start, end, tall }) => (
        <rect
          key={start}
          class={tall > MET ? "unmet" : "met"}
          x={`${at(start)}%`}
          width={`${at(end) - at(start)}%`}
          y={HEIGHT - tall}
          height={tall}
        />
      ))}
    </svg>
  );
}

/** Pixels: the height of what is met. */
const MET = 2;

/** Runs of bins that are as high. */
function bars(errors: (number | null)[]): { start: number; end: number; tall: number }[] {
  const found: { start: number; end: number; tall: number }[] = [];
  errors.forEach((error, bin) => {
    if (error === null || error === undefined) return;
    const tall = error <= 1 ? MET : Math.min(Math.round(4 + 4 * Math.log10(error)), HEIGHT);
    const last = found[found.length - 1];
    if (last && last.end === bin && last.tall === tall) last.end++;
    else found.push({ start: bin, end: bin + 1, tall });
  });
  return found;
}

/** What strips are hatched with where they are not met; once in a page. */
export function Hatching() {
  return (
    <svg class="unseen" aria-hidden="true">
      <pattern id="unmet" width="4" height="4" patternUnits="userSpaceOnUse">
        <rect class="ink" width="4" height="4" />
        <path class="paper" d="M0 3h1v1h-1zM1 2h1v1h-1zM2 1h1v1h-1zM3 0h1v1h-1z" />
      </pattern>
    </svg>
  );
}
