/** The faults of a run: those that the reader may add at the cursor, and those that are there. */
import { nextTick, type VNode } from "vue";
import { actionsOf } from "./deeds.ts";
import type { FaultInWords } from "./play.ts";
import type { Session } from "./session.ts";
import { ms } from "./words.ts";

/** Moves the focus to an element if a change of the page removes the button that had it. */
async function keepFocus(change: Promise<void>, id: string): Promise<void> {
  await change;
  await nextTick();
  if (document.activeElement === document.body) document.getElementById(id)?.focus();
}

/** What the panel shows. */
export interface FaultsPanelProps {
  readonly session: Session;
  /** The node or client, by name. */
  readonly target: string;
  /** Closes the panel. */
  readonly close: () => void;
}

/** The faults that the reader may add to a node or a client at the cursor. */
export function FaultsPanel({ session, target, close }: FaultsPanelProps): VNode | null {
  const { address, run, change } = session;
  if (run.value === undefined) return null;
  const { trace } = run.value;
  const atMs = session.atMs.value;
  const isOver = atMs >= trace.endedAtMs;
  return (
    <section class="faults-panel" aria-label={`Faults of ${target}`} data-faults-panel={target}>
      <h2 tabindex="-1" id="pg-faults-title">
        {trace.nodes.includes(target) ? `Node ${target}` : target} at {ms(atMs)}
      </h2>
      {isOver && <p data-note>The run has ended. Go back in time to add a fault.</p>}
      <div class="actions">
        {actionsOf(target, trace.clients).map(({ id, label }) => (
          <button
            key={id}
            type="button"
            data-action={id}
            disabled={isOver}
            onClick={() => change([...address.value.deeds, { action: id, target, atMs }])}
          >
            {label}
          </button>
        ))}
        <button type="button" class="close" onClick={close}>
          Close
        </button>
      </div>
    </section>
  );
}

/** The faults of the run: those of the story, and those that the reader added, which can be removed. */
export function FaultList({ session }: { readonly session: Session }): VNode {
  const { address, run, change, seek } = session;
  const { deeds } = address.value;
  const faults = run.value?.faults ?? [];
  const told = faults.length - deeds.length;
  const remove = (index: number): void => {
    void keepFocus(change(deeds.filter((_, other) => other !== index)), "pg-fault-list");
  };
  return (
    <section class="fault-list" aria-labelledby="pg-fault-list">
      <h2 tabindex="-1" id="pg-fault-list">
        Faults
      </h2>
      {faults.length === 0 && <p>None yet. Add one with the button “Faults” of a node or a client.</p>}
      <ul>
        {faults.map((fault, index) => faultItem(fault, seek, index < told ? undefined : () => remove(index - told)))}
      </ul>
    </section>
  );
}

function faultItem({ atMs, what }: FaultInWords, seek: (atMs: number) => void, remove?: () => void): VNode {
  return (
    <li data-fault={remove ? "added" : "told"}>
      {atMs === undefined ? (
        <span class="when">–</span>
      ) : (
        <button type="button" class="when" aria-label={`Go to ${ms(atMs)}`} onClick={() => seek(atMs)}>
          {ms(atMs)}
        </button>
      )}
      <span>{what}</span>
      {remove && (
        <button type="button" onClick={remove}>
          Remove<span class="visually-hidden">: {what}</span>
        </button>
      )}
    </li>
  );
}
