import { nextTick, type VNode } from "vue";
import { mostFaults } from "./address.ts";
import { wholeMicroseconds } from "./free-play.ts";
import { clientActions, type HandAction, type HandContext, nodeActions } from "./hand-faults.ts";
import type { Session } from "./session.ts";
import { ms } from "./words.ts";
import type { FaultInWords } from "./worker.ts";

/** What the panel shows. */
export interface FaultsPanelProps {
  /** The run. */
  readonly session: Session;
  /** The ttl of its locks, in milliseconds. */
  readonly ttlMs: number;
  /** The node or client, by name. */
  readonly target: string;
  /** Closes the panel. */
  readonly close: () => void;
}

/** The faults that the reader may add to a node or a client at the cursor. */
export function FaultsPanel({ session, ttlMs, target, close }: FaultsPanelProps): VNode | null {
  const { address, run, atMs, change } = session;
  if (run.value === undefined) return null;
  const { trace } = run.value;
  const isNode = trace.nodes.includes(target);
  const context: HandContext = { trace, faults: address.value.faults, atMs: wholeMicroseconds(atMs.value), ttlMs };
  const actions = isNode ? nodeActions(target, context) : clientActions(target, context);
  const isOver = atMs.value >= trace.endedAtMs;
  const isPossible = (faults: HandAction["faults"]): boolean =>
    !isOver && faults !== undefined && faults.length <= mostFaults;
  return (
    <section class="faults-panel" aria-label={`Faults of ${target}`} data-faults-panel={target}>
      <h2 tabindex="-1" id="pg-faults-title">
        {isNode ? `Node ${target}` : target} at {ms(atMs.value)}
      </h2>
      {isOver && <p data-note>The run has ended. Go back in time to add a fault.</p>}
      {!isOver && address.value.faults.length >= mostFaults && (
        <p data-note>{`These are ${mostFaults} faults. Remove one to add another.`}</p>
      )}
      <div class="actions">
        {actions.map(({ id, label, faults }) => (
          <button
            key={id}
            type="button"
            data-action={id}
            disabled={!isPossible(faults)}
            onClick={() => faults && keepFocus(change(faults), "pg-faults-title")}
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

/** Moves the focus to an element if a change of the page removes the button that had it. */
async function keepFocus(change: Promise<void>, id: string): Promise<void> {
  await change;
  await nextTick();
  if (document.activeElement === document.body) document.getElementById(id)?.focus();
}

/** With more faults than these, those that the run came with are folded: a seed can have dozens. */
const fewFaults = 6;

/** The faults of the run: those that it came with, and those that the reader added, which can be removed. */
export function FaultList({ session }: { readonly session: Session }): VNode {
  const { address, run, change, seek } = session;
  const all = run.value?.faults ?? [];
  const own = all.slice(0, all.length - address.value.faults.length);
  const added = all.slice(own.length);
  const remove = (index: number): void => {
    const faults = address.value.faults.filter((_, other) => other !== index);
    void keepFocus(change(faults), "pg-fault-list");
  };
  const ownList = <ul data-own-faults>{own.map((fault) => faultItem(fault, seek))}</ul>;
  return (
    <section class="fault-list" aria-labelledby="pg-fault-list">
      <h2 tabindex="-1" id="pg-fault-list">
        Faults
      </h2>
      {all.length === 0 && <p>None yet. Add one with the button “Faults” of a node or a client.</p>}
      {own.length > fewFaults ? (
        <details>
          <summary>{own.length} faults that come with the run</summary>
          {ownList}
        </details>
      ) : (
        ownList
      )}
      <ul data-added-faults>{added.map((fault, index) => faultItem(fault, seek, () => remove(index)))}</ul>
    </section>
  );
}

function faultItem({ kind, atMs, what }: FaultInWords, seek: (atMs: number) => void, remove?: () => void): VNode {
  return (
    <li data-fault={kind}>
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
