import { setImmediate as immediate, setTimeout as sleep } from "node:timers/promises";
import { believe } from "@holdfast/app-kit/visits";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Visit } from "../history/visit.ts";
import type { ClientMessage } from "./messages.ts";
import type { Store } from "./store.ts";

/** A lock, or the term of a leader. */
export interface Hold {
  readonly fence: number;
  readonly signal: AbortSignal;
  remainingMs(): number;
  extend(): Promise<void>;
  release(): Promise<void>;
}

/** Returns a lock, or a term, as a hold that ends otherwise. */
export function holdOf(lock: Omit<Hold, "release">, release: Hold["release"]): Hold {
  return {
    fence: lock.fence,
    get signal() {
      return lock.signal;
    },
    remainingMs: () => lock.remainingMs(),
    extend: () => lock.extend(),
    release,
  };
}

/** The parameters of a visit. */
export interface Errand {
  readonly client: string;
  readonly resource: string;
  readonly stage: string;
  /** The element to add to both sets. */
  readonly element: string;
  readonly dwellMs: number;
  /** Whether to extend the lock during the visit. */
  readonly extend: boolean;
  readonly calledAtMs: number;
  readonly attemptAtMs: number;
  /** The sets, if there are any. */
  readonly store: Store | undefined;
  /** Called in the middle of the visit. */
  inside(): Promise<void>;
  tell(message: ClientMessage): void;
  /** Called for an error of the lock, which a fault may explain. */
  fail(what: "extend" | "release" | "lost", error: Error): void;
}

/**
 * Adds an element to both sets under a lock: reads, works, checks that the lock is still held, and writes. The write takes
 * some time, as over a network. A pause at that point does harm that no check can prevent.
 */
export async function visit(lock: Hold, { store, tell, ...errand }: Errand): Promise<Visit> {
  const { client, resource, stage, element, dwellMs, attemptAtMs } = errand;
  const belief = believe(lock);
  const { fence } = lock;
  const { grantedAtMs } = belief;
  const waitedMs = grantedAtMs - errand.calledAtMs;
  const grant = { client, resource, stage, fence, attemptAtMs, grantedAtMs, waitedMs };
  tell({ kind: "granted", client, grant });
  const plainNewest = await store?.plain.read();
  const fencedNewest = await store?.fenced.read(fence);
  await pause(dwellMs / 2);
  if (errand.extend) await lock.extend().then(belief.renew, (error) => errand.fail("extend", error));
  await errand.inside();
  let plain: Visit["plain"] = "skipped";
  let wroteAtMs: number | null = null;
  let fenced: Visit["fenced"] = fencedNewest === null ? "refused" : "skipped";
  if (!lock.signal.aborted) {
    tell({ kind: "writing", client, resource });
    await pause(dwellMs / 2);
    if (store && typeof plainNewest === "string") {
      await store.plain.write(plainNewest, element);
      wroteAtMs = monotonicMs();
      plain = wroteAtMs <= belief.validUntilMs() ? "written" : "late";
    }
    if (store && typeof fencedNewest === "string")
      fenced = (await store.fenced.write(fencedNewest, element, fence)) === null ? "refused" : "written";
  }
  const { heldUntilMs, end } = belief.end();
  const { aborted, reason } = lock.signal;
  tell({ kind: "releasing", client, resource, atMs: monotonicMs() });
  await lock.release().catch((error) => errand.fail("release", error)); // the lock ends with its ttl
  if (aborted) errand.fail("lost", reason as Error);
  const recorded = { ...grant, heldUntilMs, end, wroteAtMs, element, plain, fenced };
  tell({ kind: "visited", client, visit: recorded });
  return recorded;
}

/** Sleeps; 0 is the next turn of the event loop. */
export async function pause(ms: number): Promise<void> {
  await (ms === 0 ? immediate() : sleep(ms));
}
