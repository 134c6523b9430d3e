import { createDice, type Dice } from "@holdfast/app-kit/dice";
import type { Redlock } from "@holdfast/core";
import { election } from "@holdfast/core/election";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import { nameOf, type Stage } from "../world/stages.ts";
import type { ClientMessage, Task } from "./messages.ts";
import type { Store } from "./store.ts";
import { type Hold, holdOf, pause, visit } from "./visit.ts";
import { hows, ways } from "./ways.ts";

/** What the tasks of a client share. */
export interface Desk {
  /** The name of the client. */
  readonly client: string;
  /** The `Redlock` of the present stage; undefined before the first one. */
  locks: Locks | undefined;
  /** Ends the tasks. */
  stopping: AbortSignal;
  /** When the latest attempt for each resource alone began. */
  readonly attemptsAtMs: Map<string, number>;
  /** The current steps, by the name of the task and the depth of the lock. */
  readonly steps: Map<string, Step>;
  /** How often something was done. */
  readonly deeds: Map<string, number>;
  visits: number;
  setsOf(name: string): Store;
  tell(message: ClientMessage): void;
}

/** A `Redlock` of one stage. */
export interface Locks {
  readonly stage: Stage;
  readonly redlock: Redlock;
  /** Ends the waits for locks, because the next stage has begun. */
  readonly leaving: AbortController;
  /** The locks that are held. */
  readonly held: Set<Promise<unknown>>;
  close(): Promise<void> | void;
}

/** A wait for a lock, or the time with it. */
export interface Step {
  readonly what: string;
  readonly isWait: boolean;
  readonly sinceMs: number;
}

/** Carries out a task until it is stopped. */
export async function carryOut(desk: Desk, name: string, task: Task): Promise<void> {
  const job = { desk, name, task, dice: createDice(task.seed) };
  if (task.election) return lead(job);
  while (!desk.stopping.aborted) {
    await takeLock(job, drawSets(job), 1);
    await pause(job.dice.integer(...task.restMs));
  }
}

/** A task in the hands of a client. */
interface Job {
  readonly desk: Desk;
  readonly name: string;
  readonly task: Task;
  readonly dice: Dice;
}

const resourcesMax = 4;

/** Draws the resources of nested locks. Each set comes after the one before it in the global order. */
function drawSets({ desk, dice, task }: Job): string[][] {
  const { resources, quietResources = [], mixed } = task;
  const sets: string[][] = [];
  const depth = mixed ? dice.one([1, 1, 1, 2, 3]) : 1;
  let rest = isJoint(desk) ? resources : [...resources, ...quietResources];
  while (sets.length < depth && rest.length > 0) {
    const left = depth - sets.length;
    const choices = left === 1 ? rest : rest.slice(0, Math.ceil(rest.length / left));
    const set = dice.some(choices, mixed ? dice.integer(1, Math.min(resourcesMax, choices.length)) : 1).sort();
    sets.push(set);
    rest = rest.slice(rest.indexOf(set.at(-1) as string) + 1);
  }
  return sets;
}

function isJoint({ locks }: Desk): boolean {
  return locks?.stage.sets.length === 2;
}

/** Acquires a lock, with the `Redlock` of the next stage if it opens meanwhile, visits the sets, and nests the other locks. */
async function takeLock(job: Job, [set, ...inner]: readonly string[][], depth: number): Promise<void> {
  const { desk, task, dice } = job;
  if (set === undefined) return;
  const calledAtMs = monotonicMs();
  const how = task.mixed ? dice.one(hows) : "acquire";
  const name = `${job.name}.${depth}`;
  for (;;) {
    const { redlock, stage, leaving, held } = desk.locks as Locks;
    if (isJoint(desk) && set.some((resource) => task.quietResources?.includes(resource))) return;
    const signal = task.mixed ? undefined : AbortSignal.any([desk.stopping, leaving.signal]);
    const options = { autoExtend: task.autoExtend, signal };
    desk.steps.set(name, { what: `waits for ${set} by ${how}`, isWait: true, sinceMs: calledAtMs });
    const call = { redlock, resources: set, options, dice, patienceMaxMs: task.mixed?.patienceMaxMs ?? 0 };
    const lock = await ways[how](call).catch((error: Error) => {
      if (!signal?.aborted) fail(job, stage, "acquire", error);
    });
    if (lock) {
      count(desk, [`by ${how}`, ...(set.length > 1 ? ["of several resources"] : []), ...(depth > 1 ? ["nested"] : [])]);
      desk.steps.set(name, { what: `holds ${set}`, isWait: false, sinceMs: monotonicMs() });
      const ended = visitUnder(job, lock, {
        resource: String(set),
        stage,
        calledAtMs,
        inside: () => takeLock(job, inner, depth + 1),
      });
      held.add(ended);
      await ended.finally(() => held.delete(ended));
    } else if (lock === null) count(desk, ["given up"]);
    desk.steps.delete(name);
    if (lock !== undefined || task.mixed || desk.stopping.aborted || !leaving.signal.aborted) return;
  }
}

/** Leads in turn with the other clients. Every third term ends while it is being extended. */
async function lead(job: Job): Promise<void> {
  const { client, stopping } = job.desk;
  const { redlock, stage } = job.desk.locks as Locks;
  const [resource] = job.task.resources as [string];
  let terms = 0;
  let calledAtMs = monotonicMs();
  for await (const term of election(redlock, resource, { label: client }).campaign({ signal: stopping })) {
    terms += 1;
    const release = (): Promise<void> => {
      if (terms % 3 === 0) term.extend().catch(() => {}); // the term ends before the replies
      return term.resign();
    };
    await visitUnder(job, holdOf(term, release), { resource, stage, calledAtMs, inside: async () => {} });
    calledAtMs = monotonicMs();
  }
}

/** A lock that a client got. */
interface Occasion {
  readonly resource: string;
  readonly stage: Stage;
  readonly calledAtMs: number;
  inside(): Promise<void>;
}

async function visitUnder(job: Job, lock: Hold, { stage, ...occasion }: Occasion): Promise<void> {
  const { desk, task, dice } = job;
  const { client, tell } = desk;
  desk.visits += 1;
  const extend = desk.visits % task.extendEvery === 0;
  if (extend) count(desk, ["extended"]);
  await visit(lock, {
    ...{ ...occasion, client, tell, extend, stage: nameOf(stage) },
    attemptAtMs: desk.attemptsAtMs.get(occasion.resource) ?? occasion.calledAtMs,
    element: `${client}-${process.pid}.${desk.visits}`,
    dwellMs: dice.integer(...task.dwellMs),
    store: task.sets === undefined ? undefined : desk.setsOf(`${task.sets}${occasion.resource}`),
    fail(what, error) {
      // Elsewhere a failure to extend shows in the signal.
      if (what !== "extend" || task.mixed) fail(job, stage, what, error);
    },
  });
}

function fail({ desk }: Job, stage: Stage, what: string, error: Error): void {
  const { client } = desk;
  desk.tell({
    kind: "failed",
    client,
    stage: nameOf(stage),
    atMs: monotonicMs(),
    message: `${what}: ${error.message}`,
  });
}

function count({ deeds }: Desk, some: readonly string[]): void {
  for (const deed of some) deeds.set(deed, (deeds.get(deed) ?? 0) + 1);
}
