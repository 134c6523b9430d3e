import { type AcquireRequest, ConfigurationError } from "@holdfast/core";

/** What a server tells of itself. */
export interface Introduction {
  /** Another one after each start; undefined where its user may not ask. */
  readonly runId: string | undefined;
  readonly isReplica: boolean;
}

/** Whether a node may vote: not on a replica, and not on a server on which another node of its `Redlock` votes. */
export interface Standing {
  /**
   * Judges a claim before it is sent. Undefined when nothing speaks against it; a promise while the server is asked who it
   * is, which rejects like this throws.
   *
   * @throws {ConfigurationError} when the node may not vote; a plain `Error` where a master has become a replica, as that is
   *   one server that fails, and no reason to stop using the others
   */
  judge(request: AcquireRequest): Promise<void> | undefined;
  /** Has the server asked again, as another one may stand in its place. */
  doubt(): void;
}

/** One run of a server, as the nodes of this process share it. */
interface Run {
  readonly id: string;
  /** Who was asked last, and what. */
  node?: string;
  request?: AcquireRequest;
}

/** Holds no run that no node is on any more. */
const runs = new Map<string, WeakRef<Run>>();

/**
 * Makes the standing of one node, of which nothing is known yet.
 *
 * @param introduce asks the server who it is
 */
export function createStanding(name: string, introduce: (request: AcquireRequest) => Promise<Introduction>): Standing {
  let run: Run | undefined;
  let isReplica = false;
  let isKnown = false;
  let wasMaster = false;
  let asking: Promise<void> | undefined;
  let lastRequest: AcquireRequest;

  const ask = (): Promise<void> => {
    const answer = introduce(lastRequest).then(
      (introduction) => {
        if (asking !== answer) return;
        asking = undefined;
        run = introduction.runId === undefined ? undefined : runOf(introduction.runId);
        isReplica = introduction.isReplica;
        isKnown = true;
      },
      () => {
        // Whatever keeps the server from answering will keep it from granting, too. The next claim asks again.
        if (asking === answer) asking = undefined;
      },
    );
    return answer;
  };
  const refuse = (reason: string, isHopeless: boolean): never => {
    // It may have been put right by the next claim, which is not to wait for the answer.
    asking ??= ask();
    throw isHopeless ? new ConfigurationError(reason, lastRequest.resources) : new Error(reason);
  };
  const insist = (): void => {
    if (isReplica) refuse("the server is a replica: only independent masters may vote", !wasMaster);
    const other = run && otherNodeOn(run, name, lastRequest);
    if (other !== undefined) {
      const rule = "each may vote once, whatever its address and database";
      refuse(`it is the same server as ${other} (run_id ${run?.id}): ${rule}`, true);
    }
    wasMaster ||= isKnown;
  };
  return {
    judge(request) {
      lastRequest = request;
      if (!isKnown) {
        asking ??= ask();
        const judged = asking.then(insist);
        // Nobody listens where the claim is refused for another reason.
        judged.catch(() => {});
        return judged;
      }
      insist();
      return undefined;
    },
    doubt() {
      // An answer that is still under way is about the connection that was lost, and may never come.
      asking = undefined;
      isKnown = false;
      isReplica = false;
      run = undefined;
    },
  };
}

/**
 * The other node on this run that was asked last, if it was for the same request: core gives all nodes of a `Redlock` the
 * same one, in one go, and no others.
 */
function otherNodeOn(run: Run, node: string, request: AcquireRequest): string | undefined {
  if (run.request === request && run.node !== node) return run.node;
  run.node = node;
  run.request = request;
  return undefined;
}

function runOf(id: string): Run {
  const known = runs.get(id)?.deref();
  if (known !== undefined) return known;
  for (const [other, run] of runs) if (run.deref() === undefined) runs.delete(other);
  const run = { id };
  runs.set(id, new WeakRef(run));
  return run;
}
