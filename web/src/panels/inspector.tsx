/** The inspector: what is selected, as a form; what else holds, as a list; something new. */

import type { ComponentChildren } from "preact";
import type { Body, Change, Constraint, Contact, Field, Form, Json, Path, Track } from "../protocol";
import { clock, look, motionsChanged, result, select, selection, state } from "../store";
import { Adding } from "./adding";
import { actorNames, bodyOf, document_, focusPanel, isCurrent, keepAll, placeOf, troubleAt } from "./changing";
import { metText, MetSign, TrackList, whenText } from "./constraints";
import { contactForm } from "./contact_form";
import { Empty, Message, Section } from "./elements";
import { TableForm } from "./form";
import { COUNTS, WHEN } from "./kinds";
import { Faults } from "./notes";
import { chainFrom, chainsPaired, paired, type SurePair } from "./pairing";
import { nearestInBox, PropForm, Scenery, withProp } from "./scenery";
import { samePath, valueAt } from "./values";

export function Inspector() {
  return (
    <>
      <Selected />
      {isCurrent.value && <Faults />}
      <Section title="Add a constraint" open={false} id="section-add">
        <Adding />
      </Section>
      <Section title="All that holds" note={countText()}>
        <TrackList />
      </Section>
      <Section title="Props" open={false} note={String(document_.value?.recipe.prop.length || "")}>
        <Scenery />
      </Section>
    </>
  );
}

function countText(): string {
  const tracks = result.value?.tracks ?? [];
  const unmet = tracks.filter((track) => !track.met).length;
  return tracks.length ? `${tracks.length}, ${unmet ? `${unmet} not met` : "all met"}` : "";
}

function Selected() {
  const chosen = selection.value;
  if (chosen.kind === "joint") return <Joint which={chosen.which ?? "result"} name={chosen.joint ?? ""} />;
  if (chosen.kind === "prop" && chosen.path) return <PropForm number={Number(chosen.path[2])} />;
  if (chosen.kind === "track" && chosen.path) {
    const entry = valueAt(document_.value, chosen.path);
    if (entry && typeof entry === "object") return <Entry path={chosen.path} key={chosen.path.join("/")} />;
  }
  if (chosen.kind === "track" && chosen.which) return <Derived kind={chosen.which} />;
  return <Empty>Click a joint, a cone or an interval to see it here; or add a constraint.</Empty>;
}

/** Limits and the floor follow from settings: they have no entry of their own. */
function Derived(props: { kind: string }) {
  const track = result.value?.tracks.find((each) => each.path === null && each.kind === props.kind);
  return (
    <div class="selected">
      <h3>{track?.label ?? props.kind}</h3>
      {track && <Met track={track} />}
      <p class="note">
        It follows from the options.{" "}
        <button type="button" onClick={() => look({ panel: "variants" })}>
          To the options
        </button>
      </p>
    </div>
  );
}

/** How well the selected is met, and a way to where it is worst. */
function Met(props: { track: Track }) {
  const { track } = props;
  return (
    <p class="met">
      <MetSign met={track.met} /> {metText(track)}
      <button type="button" data-testid="go-to-worst" onClick={() => (clock.time.value = Math.max(0, track.worst_time))}>
        Go to {track.worst_time.toFixed(2)} s
      </button>
    </p>
  );
}

/** Of contacts. */
const BODY = ["point", "joint", "offset", "actor", "other", "confidence"];

/** A contact or constraint of the document. */
function Entry(props: { path: Path }) {
  const { path } = props;
  const isContact = path[1] === "contact";
  const entry = valueAt(document_.value, path) as Constraint & Contact;
  const form: Form | undefined = isContact
    ? contactForm(sourceJoints(entry.actor), thingsToTouch())
    : state.value?.forms.constraint[entry.kind];
  const track = result.value?.tracks.find((each) => samePath(each.path, path));
  const title = isContact ? `Contact: ${entry.point}` : `${entry.kind}${entry.name ? `: ${entry.name as string}` : ""}`;
  const rest = troubleAt(path, true);
  return (
    <div class="selected" data-testid="selected">
      <div class="selected-head">
        <h3 title={title}>{title}</h3>
        <EntryButtons path={path} entry={entry} />
      </div>
      {track && <Met track={track} />}
      {track && (
        <p class="note">
          {whenText(track)}
          {track.confidence !== null && `, found with confidence ${track.confidence.toFixed(2)}`}
        </p>
      )}
      {form && <p class="note">{form.about}</p>}
      <Message trouble={rest} />
      {form ? <Grouped form={form} path={path} title={title} /> : <Empty>There is no kind called {entry.kind}.</Empty>}
    </div>
  );
}

function thingsToTouch(): string[] {
  return [...(document_.value?.recipe.prop ?? []).map((prop) => String(prop.name)), ...actorNames()];
}

function sourceJoints(actor = ""): string[] {
  return bodyOf("source", actor)?.joints.map((joint) => joint.name) ?? [];
}

/** What it is about first, then when, then how much it counts. */
function Grouped(props: { form: Form; path: Path; title: string }) {
  const fields = props.path[1] === "contact" ? props.form.fields : withProp(props.form.fields);
  const body = props.path[1] === "contact" ? BODY : [];
  const named = (names: string[]) => fields.filter((field) => names.includes(field.name));
  const own = fields.filter((field) => ![...WHEN, ...body, ...COUNTS].includes(field.name));
  const part = (shown: Field[]) => <TableForm fields={shown} base={props.path} label={props.title} testid="field" />;
  return (
    <>
      {part(own)}
      <Group title="When">{part(named(WHEN))}</Group>
      {named(body).length > 0 && (
        <Section title="Where on the source's body" open={false}>
          {part(named(body))}
        </Section>
      )}
      {named(COUNTS).length > 0 && <Group title="How much it counts">{part(named(COUNTS))}</Group>}
    </>
  );
}

function Group(props: { title: string; children: ComponentChildren }) {
  return (
    <fieldset>
      <legend>{props.title}</legend>
      {props.children}
    </fieldset>
  );
}

function EntryButtons(props: { path: Path; entry: { [key: string]: Json | undefined } }) {
  const list = props.path.slice(0, -1);
  const index = props.path[props.path.length - 1] as number;
  const copy = () => {
    const value = JSON.parse(JSON.stringify(props.entry)) as Json;
    keepAll("copy", [{ op: "insert", path: [...list, index + 1], value }]);
    select({ kind: "track", path: [...list, index + 1] });
  };
  const remove = () => {
    select({ kind: "none" });
    keepAll("delete", [{ op: "remove", path: props.path }]);
    focusPanel();
  };
  return (
    <span class="row">
      <button type="button" data-testid="copy-entry" onClick={copy}>
        Copy
      </button>
      <button type="button" data-testid="delete-entry" onClick={remove}>
        Delete
      </button>
    </span>
  );
}

const HELD = 0.25;

/** Pin the chosen joint to the joint or prop that is chosen besides, around the playhead. */
function Pin(props: { point: string; actor: string }) {
  const { other, prop } = selection.value;
  const names = (document_.value?.recipe.prop ?? []).map((each) => String(each.name));
  const length = state.value?.duration ?? 0;
  const whose = other?.which.includes(":") ? other.which.slice(other.which.indexOf(":") + 1) : "";
  const pin = (to: { [field: string]: Json }, label: string) => {
    const ref: Json = props.actor ? { point: props.point, actor: props.actor } : props.point;
    const start = Number(Math.max(0, clock.time.value - HELD).toFixed(4));
    const end = Number(Math.min(length, clock.time.value + HELD).toFixed(4));
    const count = document_.value?.recipe.constraint.length ?? 0;
    const value = { kind: "attach", point: ref, ...to, start, end };
    keepAll(`pin ${props.point} to ${label}`, [{ op: "insert", path: ["recipe", "constraint", count], value }]);
    select({ kind: "track", path: ["recipe", "constraint", count] });
  };
  if (other && other.which.startsWith("result"))
    return (
      <button type="button" data-testid="pin" onClick={() => pin({ to: whose ? { point: other.joint, actor: whose } : other.joint }, other.joint)}>
        Pin it to {other.joint}
      </button>
    );
  /** From the playhead on the prop goes with the point, which is at the prop then: inside it, or on its surface. */
  const carry = (name: string) => {
    const number = names.indexOf(name);
    const box = state.value?.props.find((each) => each.name === name)?.boxes[0];
    const place = placeOf(props.actor ? `result:${props.actor}` : "result", props.point, clock.time.value);
    if (!box || !place) return;
    const start = Number(clock.time.value.toFixed(4));
    const { grip, away } = nearestInBox(place, box);
    const count = document_.value?.recipe.constraint.length ?? 0;
    const pinned = { kind: "attach", point: props.point, prop: name, grip, instants: [start], name: `${props.point} picks up ${name}` };
    keepAll(`carry ${name}`, [
      { op: "set", path: ["recipe", "prop", number, "carried_by"], value: props.point },
      { op: "set", path: ["recipe", "prop", number, "carried"], value: [start, Number(length.toFixed(4))] },
      ...(away < 0.005 ? [] : [{ op: "insert", path: ["recipe", "constraint", count], value: pinned } as Change]),
    ]);
  };
  const chosen = prop !== undefined && names.includes(prop) ? [prop] : names;
  if (chosen.length === 0) return <p class="note">Ctrl click a second joint or a prop on the stage to pin this one to it.</p>;
  return (
    <div class="row">
      {chosen.map((name) => (
        <>
          <button type="button" key={name} data-testid={`pin-${name}`} onClick={() => pin({ prop: name }, name)}>
            Pin it to {name}
          </button>
          {!props.actor && (
            <button
              type="button"
              key={`carry ${name}`}
              title="From the playhead on the prop goes where this point goes"
              data-testid={`carry-${name}`}
              onClick={() => carry(name)}
            >
              Carry {name} with it
            </button>
          )}
        </>
      ))}
    </div>
  );
}

/** A joint of the source and one of the result, chosen on the stage: their bones, or the chains that begin there. */
function Mapping(props: { which: string; name: string }) {
  const { other } = selection.value;
  const chosen = [{ which: props.which, joint: props.name }, ...(other ? [other] : [])];
  const source = chosen.find((each) => each.which.startsWith("source"));
  const target = chosen.find((each) => each.which.startsWith("result"));
  const [bodies, correspondence] = [{ source: bodyOf("source"), target: bodyOf("result") }, state.value?.correspondence];
  if (!source || !target || !bodies.source || !bodies.target || !correspondence) return null;
  const known = (body: Body, name: string) => body.joints.some((joint) => joint.name === name);
  if (!known(bodies.source, source.joint) || !known(bodies.target, target.joint)) return null;
  const pairs = correspondence.pairs as SurePair[];
  const chains = [chainFrom(bodies.source, source.joint), chainFrom(bodies.target, target.joint)];
  const keepPairs = (label: string, made: SurePair[]) => keepAll(label, [{ op: "set", path: ["pairs"], value: made as unknown as Json }]);
  return (
    <div class="row">
      <button
        type="button"
        data-testid="pair-chosen"
        onClick={() => keepPairs(`pair ${source.joint} with ${target.joint}`, paired(pairs, [source.joint], [target.joint]).pairs)}
      >
        Pair {source.joint} with {target.joint}
      </button>
      <button
        type="button"
        title={`${chains[0].join(", ")} → ${chains[1].join(", ")}`}
        data-testid="pair-chains"
        onClick={() => keepPairs(`pair the chains of ${source.joint} and ${target.joint}`, chainsPaired(pairs, chains[0], chains[1]))}
      >
        Pair their chains ({chains[0].length} and {chains[1].length} bones)
      </button>
    </div>
  );
}

/** A joint or end: where it is now, and a way to hold it there. */
function Joint(props: { which: string; name: string }) {
  const [kind, actor] = props.which.split(":");
  const body = bodyOf(kind, actor);
  const joint = body?.joints.find((each) => each.name === props.name);
  const end = body?.ends.find((each) => each.name === props.name);
  // Looked at so that the place follows the motion while it is solved again.
  void motionsChanged.value;
  const place = placeOf(props.which, props.name, clock.time.value);
  const length = state.value?.duration ?? 0;
  const hold = () => {
    if (!place) return;
    const constraint = {
      kind: "place",
      point: actor ? { point: props.name, actor } : props.name,
      target: place,
      start: Number(Math.max(0, clock.time.value - HELD).toFixed(4)),
      end: Number(Math.min(length, clock.time.value + HELD).toFixed(4)),
    };
    const count = document_.value?.recipe.constraint.length ?? 0;
    keepAll(`hold ${props.name}`, [{ op: "insert", path: ["recipe", "constraint", count], value: constraint }]);
    select({ kind: "track", path: ["recipe", "constraint", count] });
  };
  return (
    <div class="selected" data-testid="selected">
      <h3 title={props.name}>{props.name}</h3>
      <p class="note">
        {end && !joint ? `an end, on ${body?.joints[end.joint]?.name ?? "the body"}` : "a joint"}
        {joint?.role ? `, the ${joint.role.replace(/_/g, " ")}` : ""} of {body?.label ?? props.which}
      </p>
      {place && (
        <p class="numbers">
          x {place[0].toFixed(3)} y {place[1].toFixed(3)} z {place[2].toFixed(3)} m
        </p>
      )}
      {kind === "result" && document_.value?.mode === "retarget" && (
        <button type="button" class="primary" data-testid="hold-here" disabled={!place} onClick={hold}>
          Hold it here
        </button>
      )}
      {kind === "result" && document_.value?.mode === "retarget" && <Pin point={props.name} actor={actor ?? ""} />}
      {document_.value?.mode === "retarget" && <Mapping which={props.which} name={props.name} />}
    </div>
  );
}
