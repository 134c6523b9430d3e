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

/** What a program does at once: any number of requests, or one other step. */
export type Turn = readonly Step[];

/** The events of a turn, in no order, and then the lists of `query()`. */
export interface Outcome {
  readonly events: readonly string[];
  readonly held: readonly string[];
  readonly pending: readonly string[];
}

const names = ["a", "b"];

/** Returns a program that depends only on the seed, without a signal if `aborts` is false. */
export function scriptOf(seed: number, aborts: boolean): Turn[] {
  const draw = dice(seed);
  const turns: Step[][] = [];
  const signals: number[] = [];
  let requests = 0;
  for (let count = 4 + draw(16); count > 0; count--) {
    const kind = draw(10);
    if (requests > 0 && kind < 4) turns.push([{ act: "end", request: draw(requests), throws: draw(4) === 0 }]);
    else if (aborts && signals.length > 0 && kind < 5) {
      turns.push([{ act: "abort", request: signals[draw(signals.length)] as number }]);
    } else {
      const name = names[draw(5) === 0 ? 1 : 0] as string;
      const options = [{}, {}, { mode: "shared" }, { mode: "shared" }, { ifAvailable: true }, { steal: true }][draw(6)];
      const hasSignal = aborts && !options?.ifAvailable && !options?.steal && draw(2) === 0;
      const both = options?.ifAvailable && draw(2) === 0 ? { ...options, mode: "shared" } : options;
      if (hasSignal) signals.push(requests);
      const step: Step = { act: "request", name, options: both as RequestOptions, hasSignal };
      const last = turns.at(-1);
      if (last?.[0]?.act === "request" && draw(2) === 0) last.push(step);
      else turns.push([step]);
      requests += 1;
    }
  }
  for (let request = 0; request < requests; request++) turns.push([{ act: "end", request, throws: false }]);
  return [...turns, []]; // in the last turn, nothing may happen
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

/** Returns what must happen in each turn (sections "Request a lock", "Process the lock request queue" and others). */
export function specified(turns: readonly Turn[]): Outcome[] {
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

  return turns.map((turn) => {
    events = [];
    for (const step of turn) {
      if (step.act === "request") request(step);
      else if (step.act === "end") end(requests[step.request] as Request, step.throws);
      else abort(requests[step.request] as Request);
    }
    const listed = names.flatMap((name) => (queues.get(name) as Request[]).map(({ mode }) => `${name} ${mode}`));
    return { events: events.sort(), held: held.map(({ name, mode }) => `${name} ${mode}`).sort(), pending: listed };
  });
}

/**
 * Runs a program, and returns what has happened, up to the first difference. It calls `query()` once for each turn: in that
 * turn, or if a callback ends, as soon as the requests have settled that must. The names of the locks begin with `prefix`.
 *
 * @param limit resolves when what has not happened will not
 */
export async function play(
  locks: Locks,
  turns: readonly Turn[],
  prefix: string,
  limit: () => Promise<unknown>,
): Promise<Outcome[]> {
  const wanted = specified(turns);
  const controllers: AbortController[] = [];
  const ends: ((throws: boolean) => void)[] = [];
  const outcomes: Outcome[] = [];
  let events: string[] = [];
  let onEvent = () => {};

  const log = (event: string): void => {
    events.push(event);
    onEvent();
  };
  const haveHappened = async (expected: readonly string[]): Promise<void> => {
    const all = new Promise<void>((resolve) => {
      onEvent = () => {
        if (expected.every((event) => events.includes(event))) resolve();
      };
    });
    onEvent();
    await Promise.race([all, limit()]);
  };
  const request = ({ name, options, hasSignal }: Step & { act: "request" }): void => {
    const id = ends.length;
    const controller = new AbortController();
    controllers.push(controller);
    const ended = new Promise<void>((resolve, reject) => {
      ends.push((throws) => (throws ? reject(new RangeError("mine")) : resolve()));
    });
    ended.catch(() => {});
    const called = (lock: unknown) => {
      log(`${id} got ${lock === null ? "null" : "the lock"}`);
      return ended;
    };
    const given = hasSignal ? { ...options, signal: controller.signal } : options;
    locks.request(prefix + name, given, called).then(
      () => log(`${id} resolved`),
      (error: Error) => log(`${id} rejected with ${error.name}`),
    );
  };

  for (const [index, turn] of turns.entries()) {
    events = [];
    for (const step of turn) {
      if (step.act === "request") request(step);
      else if (step.act === "end") ends[step.request]?.(step.throws);
      else controllers[step.request]?.abort();
    }
    const expected = wanted[index] as Outcome;
    if (turn[0]?.act === "end") await haveHappened(expected.events.filter((event) => !event.includes("got")));
    const { held, pending } = await locks.query();
    await haveHappened(expected.events);
    const lists = { held: listed(held, prefix).sort(), pending: inOrder(listed(pending, prefix)) };
    outcomes.push({ events: events.toSorted(), ...lists });
    if (!isSame(outcomes.at(-1), expected)) break;
  }
  return outcomes;
}

function listed(list: readonly { readonly name: string; readonly mode: string }[], prefix: string): string[] {
  const ours = list.filter(({ name }) => name.startsWith(prefix));
  return ours.map(({ name, mode }) => `${name.slice(prefix.length)} ${mode}`);
}

/** The specification leaves the order of different names open. */
function inOrder(list: readonly string[]): string[] {
  return names.flatMap((name) => list.filter((text) => text.startsWith(name)));
}

/** Whether two results of JSON values are equal. */
export function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
