/**
 * Random programs that request locks, and what must happen in them: the algorithms of the specification, as they are
 * written there. Uses nothing but web globals.
 */
import type { Locks } from "./clauses.ts";

/** One step of a program. Requests are numbered in order. */
export type Step =
  | { readonly act: "request"; readonly name: string; readonly options: RequestOptions; readonly hasSignal: boolean }
  /** Ends the callback of a request; if it has not been called, as soon as it is. */
  | { readonly act: "end"; readonly request: number; readonly throws: boolean }
  | { readonly act: "abort"; readonly request: number };

interface RequestOptions {
  readonly mode?: "exclusive" | "shared";
  readonly ifAvailable?: boolean;
  readonly steal?: boolean;
}

/** The events of a step, in no order, and then the lists of `query()`. */
export interface Outcome {
  readonly events: readonly string[];
  readonly held: readonly string[];
  readonly pending: readonly string[];
}

const names = ["a", "b"];

/** Returns a program that depends only on the seed, without a signal if `aborts` is false. */
export function scriptOf(seed: number, aborts: boolean): Step[] {
  const draw = dice(seed);
  const steps: Step[] = [];
  const signals: number[] = [];
  let requests = 0;
  for (let count = 4 + draw(16); count > 0; count--) {
    const kind = draw(10);
    if (requests > 0 && kind < 4) steps.push({ act: "end", request: draw(requests), throws: draw(4) === 0 });
    else if (aborts && signals.length > 0 && kind < 5) {
      steps.push({ act: "abort", request: signals[draw(signals.length)] as number });
    } else {
      const name = names[draw(5) === 0 ? 1 : 0] as string;
      const options = [{}, {}, { mode: "shared" }, { mode: "shared" }, { ifAvailable: true }, { steal: true }][draw(6)];
      const hasSignal = aborts && !options?.ifAvailable && !options?.steal && draw(2) === 0;
      const both = options?.ifAvailable && draw(2) === 0 ? { ...options, mode: "shared" } : options;
      if (hasSignal) signals.push(requests);
      steps.push({ act: "request", name, options: both as RequestOptions, hasSignal });
      requests += 1;
    }
  }
  for (let request = 0; request < requests; request++) steps.push({ act: "end", request, throws: false });
  return steps;
}

/** Returns a function that draws an integer from 0 to below its argument (mulberry32). */
function dice(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

interface Request {
  readonly id: number;
  readonly name: string;
  readonly mode: "exclusive" | "shared";
  state: "pending" | "held" | "null" | "done";
  end: { readonly throws: boolean } | undefined;
}

/** Returns what must happen after each step (sections "Request a lock", "Process the lock request queue" and others). */
export function specified(steps: readonly Step[]): Outcome[] {
  const requests: Request[] = [];
  const queues = new Map(names.map((name) => [name, [] as Request[]]));
  let held: Request[] = [];
  let events: string[] = [];

  const isGrantable = (request: Request): boolean => {
    const queue = queues.get(request.name) as Request[];
    if (queue.length > 0 && queue[0] !== request) return false;
    const rivals = held.filter(({ name }) => name === request.name);
    return request.mode === "exclusive" ? rivals.length === 0 : rivals.every(({ mode }) => mode === "shared");
  };
  const settle = (request: Request): void => {
    const outcome = request.end?.throws ? "rejected with RangeError" : "resolved";
    request.state = "done";
    events.push(`${request.id} ${outcome}`);
  };
  const release = (request: Request): void => {
    held = held.filter((other) => other !== request);
    settle(request);
    process(queues.get(request.name) as Request[]);
  };
  const process = (queue: Request[]): void => {
    const granted: Request[] = [];
    for (let [first] = queue; first !== undefined && isGrantable(first); [first] = queue) {
      queue.shift();
      held.push(first);
      first.state = "held";
      events.push(`${first.id} got the lock`);
      granted.push(first);
    }
    for (const request of granted) if (request.end !== undefined) release(request);
  };
  const request = ({ name, options }: Step & { act: "request" }): void => {
    const { mode = "exclusive", ifAvailable = false, steal = false } = options;
    const made: Request = { id: requests.length, name, mode, state: "pending", end: undefined };
    const queue = queues.get(name) as Request[];
    requests.push(made);
    if (steal) {
      for (const stolen of held.filter((other) => other.name === name)) {
        stolen.state = "done";
        events.push(`${stolen.id} rejected with AbortError`);
      }
      held = held.filter((other) => other.name !== name);
      queue.unshift(made);
    } else if (ifAvailable && !isGrantable(made)) {
      made.state = "null";
      events.push(`${made.id} got null`);
      return;
    } else queue.push(made);
    process(queue);
  };
  const end = (one: Request, throws: boolean): void => {
    if (one.end !== undefined) return;
    one.end = { throws };
    if (one.state === "held") release(one);
    else if (one.state === "null") settle(one);
  };
  const abort = (one: Request): void => {
    if (one.state !== "pending") return;
    const queue = queues.get(one.name) as Request[];
    queue.splice(queue.indexOf(one), 1);
    one.state = "done";
    events.push(`${one.id} rejected with AbortError`);
    process(queue);
  };

  return steps.map((step) => {
    events = [];
    if (step.act === "request") request(step);
    else if (step.act === "end") end(requests[step.request] as Request, step.throws);
    else abort(requests[step.request] as Request);
    const listed = names.flatMap((name) => (queues.get(name) as Request[]).map(({ mode }) => `${name} ${mode}`));
    return { events: events.sort(), held: held.map(({ name, mode }) => `${name} ${mode}`).sort(), pending: listed };
  });
}

/**
 * Runs a program, waits after each step until what is specified has happened and nothing more does, and returns what
 * has happened, up to the first difference. The names of its locks begin with `prefix`.
 */
export async function play(locks: Locks, steps: readonly Step[], prefix: string): Promise<Outcome[]> {
  const wanted = specified(steps);
  const controllers: AbortController[] = [];
  const ends: ((throws: boolean) => void)[] = [];
  const outcomes: Outcome[] = [];
  let events: string[] = [];

  const request = ({ name, options, hasSignal }: Step & { act: "request" }): void => {
    const id = ends.length;
    const controller = new AbortController();
    controllers.push(controller);
    const ended = new Promise<void>((resolve, reject) => {
      ends.push((throws) => (throws ? reject(new RangeError("mine")) : resolve()));
    });
    ended.catch(() => {});
    const called = (lock: unknown) => {
      events.push(`${id} got ${lock === null ? "null" : "the lock"}`);
      return ended;
    };
    const given = hasSignal ? { ...options, signal: controller.signal } : options;
    locks.request(prefix + name, given, called).then(
      () => events.push(`${id} resolved`),
      (error: Error) => events.push(`${id} rejected with ${error.name}`),
    );
  };

  for (const [index, step] of steps.entries()) {
    events = [];
    if (step.act === "request") request(step);
    else if (step.act === "end") ends[step.request]?.(step.throws);
    else controllers[step.request]?.abort();
    const expected = wanted[index] as Outcome;
    const outcome = await settled(locks, prefix, () => events, expected);
    outcomes.push(outcome);
    if (!isSame(outcome, expected)) break;
  }
  return outcomes;
}

/** Waits until the outcome is the wanted one, at most for five seconds, and a little for what should not happen. */
async function settled(locks: Locks, prefix: string, events: () => string[], wanted: Outcome): Promise<Outcome> {
  const isOurs = ({ name }: { readonly name: string }) => name.startsWith(prefix);
  const text = ({ name, mode }: { readonly name: string; readonly mode: string }) =>
    `${name.slice(prefix.length)} ${mode}`;
  let outcome: Outcome | undefined;
  let turnsAlike = 0;
  for (const deadline = Date.now() + 5_000; turnsAlike < 3 && Date.now() < deadline; ) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    const { held, pending } = await locks.query();
    // The specification leaves the order of different names open.
    const inOrder = names.flatMap((name) => pending.filter((info) => info.name === prefix + name));
    outcome = { events: events().toSorted(), held: held.filter(isOurs).map(text).sort(), pending: inOrder.map(text) };
    turnsAlike = isSame(outcome, wanted) ? turnsAlike + 1 : 0;
  }
  return outcome as Outcome;
}

/** Whether two results of JSON values are equal. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
