/** The page: a bar, the stage, the panels, the timeline, and what lies over them. */

import { useEffect, useRef } from "preact/hooks";
import { Bar } from "./bar";
import { Help } from "./help";
import { listen } from "./keys";
import { Dropping, PANELS } from "./panels";
import type { Trouble } from "./protocol";
import { Stage } from "./stage/Stage";
import { dismiss, look, lost, report, send, state, troubles, view } from "./store";
import { Timeline } from "./timeline/Timeline";

export function App() {
  useEffect(
    () =>
      listen((number) => {
        const panel = PANELS[number - 1];
        if (!panel) return;
        look({ panel: panel.id });
        document.getElementById(`tab-${panel.id}`)?.focus();
      }),
    [],
  );
  return (
    <div class="studio">
      <Bar />
      <Stage />
      <Divider upright />
      <Dock />
      <Divider />
      <Timeline />
      <Troubles />
      <Dropping />
      <Help />
      {lost.value && (
        <div class="away" role="status">
          No connection to the server; trying again. Nothing that was done is lost: if it was stopped, start `understudy
          studio` again and open the address it prints.
        </div>
      )}
    </div>
  );
}

const LEAST = { dock: 300, timeline: 110 };

/** A border between panes, moved by dragging or with the arrow keys. */
function Divider({ upright = false }: { upright?: boolean }) {
  const key = upright ? "dock" : "timeline";
  const most = () => (upright ? window.innerWidth - 400 : window.innerHeight - 260);
  const set = (size: number) => look({ [key]: Math.round(Math.max(LEAST[key], Math.min(size, most()))) });
  const sizeAt = (event: PointerEvent) =>
    upright ? window.innerWidth - event.clientX : window.innerHeight - event.clientY;
  return (
    <div
      class={`divider ${upright ? "upright" : "level"}`}
      role="separator"
      tabIndex={0}
      aria-label={upright ? "Width of the panels" : "Height of the timeline"}
      aria-orientation={upright ? "vertical" : "horizontal"}
      aria-valuenow={view.value[key]}
      aria-valuemin={LEAST[key]}
      aria-valuemax={most()}
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => event.currentTarget.hasPointerCapture(event.pointerId) && set(sizeAt(event))}
      onKeyDown={(event) => {
        const more = upright ? "ArrowLeft" : "ArrowUp";
        const less = upright ? "ArrowRight" : "ArrowDown";
        if (event.key !== more && event.key !== less) return;
        set(view.value[key] + (event.key === more ? 20 : -20));
        event.preventDefault();
      }}
    />
  );
}

function Dock() {
  const place = useRef<HTMLElement>(null);
  const page = useRef<HTMLDivElement>(null);
  const { dock } = view.value;
  useEffect(() => {
    if (place.current) place.current.style.width = `${dock}px`;
  }, [dock]);
  const open = PANELS.find((panel) => panel.id === view.value.panel) ?? PANELS[0];
  // A panel begins at its top, however far the one before was scrolled.
  useEffect(() => {
    if (page.current) page.current.scrollTop = 0;
  }, [open.id]);
  const Panel = open.component;
  const turn = (event: KeyboardEvent) => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    const next = PANELS[(PANELS.indexOf(open) + by + PANELS.length) % PANELS.length];
    look({ panel: next.id });
    document.getElementById(`tab-${next.id}`)?.focus();
    event.preventDefault();
  };
  return (
    <aside class="dock" ref={place} aria-label="Panels">
      <div role="tablist" aria-label="Panels" onKeyDown={turn}>
        {PANELS.map((panel, number) => (
          <button
            key={panel.id}
            id={`tab-${panel.id}`}
            role="tab"
            data-testid={`tab-${panel.id}`}
            aria-selected={panel === open}
            aria-controls="panel"
            tabIndex={panel === open ? 0 : -1}
            title={`${panel.title} (${number + 1})`}
            onClick={() => look({ panel: panel.id })}
          >
            {panel.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="panel" ref={page} aria-labelledby={`tab-${open.id}`} data-testid={`panel-${open.id}`} tabIndex={-1}>
        {state.value ? <Panel key={open.id} /> : <p>Connecting to the server…</p>}
      </div>
    </aside>
  );
}

/** The function that a recipe would run, and the button that agrees to it. */
function Consent(props: { digest: string; text: string; trouble: Trouble }) {
  const agree = () => {
    dismiss(props.trouble);
    void send("trust", { digest: props.digest }).catch(report);
  };
  return (
    <div class="hint">
      <pre>{props.text}</pre>
      <button onClick={agree} data-testid="trust">
        Run it
      </button>
    </div>
  );
}

function Troubles() {
  return (
    <div class="troubles" role="alert" data-testid="troubles">
      {troubles.value.map((trouble) => (
        <div class="trouble" key={trouble.message}>
          <span class="sign" aria-hidden="true">
            !
          </span>
          <p>{trouble.message}</p>
          <button class="quiet" aria-label="Close this message" onClick={() => dismiss(trouble)}>
            ✕
          </button>
          {trouble.hint && <p class="hint">{trouble.hint}</p>}
          {trouble.consent && <Consent digest={trouble.consent.digest} text={trouble.consent.text} trouble={trouble} />}
        </div>
      ))}
    </div>
  );
}
