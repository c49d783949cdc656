/** What keys and mouse do. */

import { useEffect, useRef } from "preact/hooks";
import { KEYS, helpOpen } from "./keys";

export function Help() {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (helpOpen.value) place.current?.showModal();
    else place.current?.close();
  }, [helpOpen.value]);
  const groups = ["Time", "Stage", "Timeline", "Page"] as const;
  return (
    <dialog
      class="help"
      ref={place}
      aria-label="Keyboard and mouse"
      data-testid="help-dialog"
      onClose={() => (helpOpen.value = false)}
    >
      <header>
        <h2>Keyboard and mouse</h2>
        <button onClick={() => (helpOpen.value = false)}>Close</button>
      </header>
      <div class="lists">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {KEYS.filter((entry) => entry.group === group).map((entry) => (
                <>
                  <dt>
                    {entry.shown.map((key) => (
                      <>
                        <kbd>{key}</kbd>{" "}
                      </>
                    ))}
                  </dt>
                  <dd>{entry.about}</dd>
                </>
              ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>Mouse</h3>
          <dl>
            <dt>drag</dt>
            <dd>turn the view; right button: move it; wheel: nearer, farther</dd>
            <dt>click</dt>
            <dd>choose a joint, hand, foot, cone or interval</dd>
            <dt>drag what is chosen</dt>
            <dd>move it: the whole motion is solved again meanwhile</dd>
          </dl>
        </section>
      </div>
    </dialog>
  );
}
