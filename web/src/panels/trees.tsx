/** Two trees of bones side by side, with a line for each pair. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { short } from "../names";
import type { Body } from "../protocol";
import { bonesOf, pairText, pairWith, sureness, type Side, type SurePair } from "./pairing";

/** Pixels: a row, as the style sheet has it, and the strip that lines are drawn in. */
const ROW = 24;
const STRIP = 40;
const INDENT = 6;
const DEEPEST = 9;

export interface TreesProps {
  source: Body | null;
  target: Body | null;
  pairs: SurePair[];
  chosen: { [side in Side]: string[] };
  /** The number of the pair that is selected; -1: none. */
  at: number;
  onChoose: (side: Side, bone: string, more: boolean) => void;
  onPair: () => void;
  onUnpair: (index: number) => void;
}

export function Trees(props: TreesProps) {
  const source = useMemo(() => rowsOf(props.source, (index) => index), [props.source]);
  const target = useMemo(() => {
    const place = new Map(source.map((row, at) => [row.name, at]));
    const partners = new Map(
      props.pairs.flatMap((pair) => bonesOf(pair, "target").map((bone) => [bone, bonesOf(pair, "source")])),
    );
    const first = (bone: string) => Math.min(...(partners.get(bone) ?? []).map((other) => place.get(other) ?? Infinity));
    return rowsOf(props.target, (_, name) => first(name));
  }, [props.target, props.pairs, source]);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const pair = props.pairs[props.at];
    const first = pair && source.findIndex((row) => row.name === bonesOf(pair, "source")[0]);
    if (!box.current || first === undefined || first < 0) return;
    const [top, height] = [first * ROW, box.current.clientHeight];
    if (top < box.current.scrollTop || top > box.current.scrollTop + height - ROW) box.current.scrollTop = top - height / 2;
  }, [props.at]);
  const columns = `minmax(0, ${lettersOf(source)}fr) ${STRIP}px minmax(0, ${lettersOf(target)}fr)`;
  return (
    <div class="trees-box">
      <div class="trees-heads" aria-hidden="true" style={{ gridTemplateColumns: columns }}>
        <span title={props.source?.label}>{props.source?.label ?? "source"}</span>
        <span />
        <span title={props.target?.label}>{props.target?.label ?? "target"}</span>
      </div>
      <div class="trees" ref={box} style={{ gridTemplateColumns: columns }}>
        <Tree {...props} side="source" rows={source} />
        <Lines {...props} left={source} right={target} />
        <Tree {...props} side="target" rows={target} />
      </div>
    </div>
  );
}

interface Row {
  name: string;
  depth: number;
}

/** The letters that most rows of a tree need: the one with the longer names gets more of the panel. */
function lettersOf(rows: Row[]): number {
  const letters = rows.map(({ name, depth }) => short(name).length + Math.min(depth, DEEPEST)).sort((a, b) => a - b);
  return Math.max(12, letters[Math.floor(0.8 * letters.length)] ?? 0);
}

/** The bones of a body from the root to the leaves; of siblings, those first in whose branch the least key is. */
function rowsOf(body: Body | null, keyOf: (index: number, name: string) => number): Row[] {
  const joints = body?.joints ?? [];
  const children: number[][] = joints.map(() => []);
  const keys = joints.map((joint, index) => keyOf(index, joint.name));
  for (let index = joints.length - 1; index >= 0; index--) {
    const { parent } = joints[index];
    if (parent < 0) continue;
    children[parent].unshift(index);
    keys[parent] = Math.min(keys[parent], keys[index]);
  }
  const rows: Row[] = [];
  const walk = (index: number, depth: number) => {
    rows.push({ name: joints[index].name, depth });
    // Branches without a key stay where they are among themselves, behind the others.
    const key = (child: number) => (Number.isFinite(keys[child]) ? keys[child] : 1e9 + child);
    for (const child of [...children[index]].sort((a, b) => key(a) - key(b))) walk(child, depth + 1);
  };
  joints.forEach((joint, index) => joint.parent < 0 && walk(index, 0));
  return rows;
}

function Tree(props: TreesProps & { side: Side; rows: Row[] }) {
  const { side, rows, pairs } = props;
  const [focus, setFocus] = useState(0);
  const tree = useRef<HTMLUListElement>(null);
  const go = (index: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, index));
    setFocus(to);
    (tree.current?.children[to] as HTMLElement | undefined)?.focus();
  };
  const press = (event: KeyboardEvent, index: number) => {
    const bone = rows[index].name;
    const other = tree.current
      ?.closest(".trees")
      ?.querySelector<HTMLElement>(`[data-side="${side === "source" ? "target" : "source"}"] [tabindex="0"]`);
    const acts: { [key: string]: () => void } = {
      ArrowDown: () => go(index + 1),
      ArrowUp: () => go(index - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => side === "source" && other?.focus(),
      ArrowLeft: () => side === "target" && other?.focus(),
      " ": () => props.onChoose(side, bone, true),
      Enter: () =>
        props.chosen.source.length && props.chosen.target.length ? props.onPair() : props.onChoose(side, bone, false),
      Delete: () => pairWith(pairs, side, bone) >= 0 && props.onUnpair(pairWith(pairs, side, bone)),
    };
    if (!(event.key in acts)) return;
    event.preventDefault();
    acts[event.key]();
  };
  return (
    <ul class="tree" role="tree" ref={tree} aria-label={`Bones of the ${side}`} aria-multiselectable="true" data-side={side}>
      {rows.map(({ name, depth }, index) => {
        const pair = pairWith(pairs, side, name);
        const chosen = props.chosen[side].includes(name);
        return (
          <li
            key={name}
            role="treeitem"
            aria-level={depth + 1}
            aria-selected={chosen}
            tabIndex={index === focus ? 0 : -1}
            class={`bone${chosen ? " chosen" : ""}${pair >= 0 && pair === props.at ? " current" : ""}${pair < 0 ? " alone" : ""}`}
            title={pair < 0 ? `${name}: in no pair` : `${name}: ${pairs[pair].reason} (${pairs[pair].confidence.toFixed(2)})`}
            data-testid={`bone-${side}-${name}`}
            onClick={(event) => {
              setFocus(index);
              props.onChoose(side, name, event.ctrlKey || event.metaKey || event.shiftKey);
            }}
            onKeyDown={(event) => press(event, index)}
          >
            <span class="bone-name" style={{ paddingLeft: `${Math.min(depth, DEEPEST) * INDENT}px` }}>
              {short(name)}
            </span>
            <span class="unseen">{pair < 0 ? ", in no pair" : ", pair "}</span>
            <span class="bone-pair">{pair < 0 ? "–" : pair + 1}</span>
            {pair >= 0 && (
              <span class="unseen">{`: ${pairText(pairs[pair])}, ${sureness(pairs[pair].confidence)}`}</span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** A line for each pair; where several bones are on a side they meet in the middle. */
function Lines(props: TreesProps & { left: Row[]; right: Row[] }) {
  const height = Math.max(props.left.length, props.right.length) * ROW;
  const middle = (rows: Row[], bones: string[]) =>
    bones
      .map((bone) => rows.findIndex((row) => row.name === bone))
      .filter((index) => index >= 0)
      .map((index) => (index + 0.5) * ROW);
  const mean = (values: number[]) => values.reduce((sum, each) => sum + each, 0) / values.length;
  return (
    <svg class="pair-lines" width={STRIP} height={height} viewBox={`0 0 ${STRIP} ${height}`} aria-hidden="true">
      {props.pairs.map((pair, index) => {
        const left = middle(props.left, bonesOf(pair, "source"));
        const right = middle(props.right, bonesOf(pair, "target"));
        if (!left.length || !right.length) return null;
        const knot = (mean(left) + mean(right)) / 2;
        const path = [
          ...left.map((y) => `M0 ${y}L${STRIP / 2} ${knot}`),
          ...right.map((y) => `M${STRIP / 2} ${knot}L${STRIP} ${y}`),
        ];
        return (
          <path
            key={index}
            class={`pair-line ${sureness(pair.confidence)}${index === props.at ? " current" : ""}`}
            d={path.join("")}
          />
        );
      })}
    </svg>
  );
}
