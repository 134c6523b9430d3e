import type { VNode } from "vue";
import { mostFaults, wholeMicroseconds } from "./address.ts";
import { keepFocus } from "./fault-list.tsx";
import { clientActions, type HandAction, type HandContext, nodeActions } from "./hand-faults.ts";
import type { Session } from "./session.ts";
import { ms } from "./words.ts";

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
