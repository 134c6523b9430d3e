import { nextTick, type VNode } from "vue";
import type { FaultInWords } from "./play.ts";
import type { Session } from "./session.ts";
import { ms } from "./words.ts";

/** Moves the focus to an element if a change of the page removes the button that had it. */
export async function keepFocus(change: Promise<void>, id: string): Promise<void> {
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
