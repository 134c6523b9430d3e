/** The members of a cluster: one connection to each, and the way of a request from one to the next. */
import { Client, type ClientUnaryCall, type Metadata, type ServiceError } from "@grpc/grpc-js";
import { EtcdError, failureOf } from "./failures.ts";
import type { Method } from "./messages.ts";
import type { Endpoint } from "./settings.ts";

/** One member, and the connection to it, if there is one. */
export interface Member {
  readonly endpoint: Endpoint;
  client: Client | undefined;
  /** When the first of the requests was sent that have had no reply, if nothing has arrived since. */
  silentSinceMs: number | undefined;
  /** How many requests it has not replied to yet. */
  inFlight: number;
}

/** A request, and when to give up. */
export interface Call<Request, Reply> {
  readonly method: Method<Request, Reply>;
  readonly request: Request;
  readonly metadata: Metadata;
  /** On the clock of `performance.now()`. */
  readonly deadlineMs: number;
}

const channelOptions = {
  // Each node has its own connections: closing one must not leave any open, or close that of another.
  "grpc.use_local_subchannel_pool": 1,
  "grpc.service_config_disable_resolution": 1,
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 500,
  // etcd refuses pings that are less than 5 s apart.
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
};

/** A connection may be dead without a sign of it: one on which nothing arrives for so long is replaced. */
const silenceMs = 1_000;

/** How much later the server gives up a request than this process does. */
const graceMs = 1_000;

/** How long a call waits before it asks again a cluster that is electing a leader: doubled each time, up to `max`. */
const pauseMs = { first: 10, max: 160 };

/** Returns the connection to a member, which connects when it is first used. */
export function connectionTo(member: Member): Client {
  const { address, credentials } = member.endpoint;
  member.client ??= new Client(`dns:${address}`, credentials, channelOptions);
  return member.client;
}

/** Closes the connection to a member, as soon as the calls over it have ended. */
export function disconnect(member: Member): void {
  member.client?.close();
  member.client = undefined;
  member.silentSinceMs = undefined;
}

/** A request to one member. */
interface Attempt<Reply> {
  readonly outcome: Promise<Outcome<Reply>>;
  cancel(): void;
}

/** The end of an attempt. */
type Outcome<Reply> = { readonly member: Member } & (
  | { readonly reply: Reply; readonly failure?: undefined }
  | { readonly reply?: undefined; readonly failure: EtcdError }
);

function attempt<Request, Reply>(member: Member, call: Call<Request, Reply>): Attempt<Reply> {
  const { method, request, metadata, deadlineMs } = call;
  const sentMs = performance.now();
  const client = connectionTo(member);
  const timeoutMs = Math.max(1, deadlineMs - sentMs);
  // The server gives up later than this process does. gRPC's own timer would also discard a reply that has arrived while
  // the event loop stood still, because timers run before sockets are read.
  const deadline = new Date(Date.now() + 2 * timeoutMs + graceMs);
  const timer = setTimeout(() => setImmediate(() => sent?.cancel()), timeoutMs);
  let isCancelled = false;
  let sent: ClientUnaryCall | undefined;
  const outcome = new Promise<Outcome<Reply>>((resolve) => {
    const onReply = (error: ServiceError | null, reply?: Reply): void => {
      member.inFlight -= 1;
      clearTimeout(timer);
      if (error === null) {
        member.silentSinceMs = undefined;
        resolve({ member, reply: reply as Reply });
        return;
      }
      const { address, usesTls } = member.endpoint;
      const failure = failureOf(error, address, usesTls);
      if (failure.remedy === "more time" && !isCancelled) {
        member.silentSinceMs ??= sentMs;
        if (performance.now() - member.silentSinceMs >= silenceMs && member.client === client) disconnect(member);
      }
      resolve({ member, failure });
    };
    const { path, encode, decode } = method;
    member.inFlight += 1;
    sent = client.makeUnaryRequest(path, encode, decode, request, metadata, { deadline }, onReply);
  });
  return {
    outcome,
    cancel() {
      isCancelled = true;
      sent?.cancel();
    },
  };
}

/**
 * Sends a request to one member, and to the next when one fails or takes more than its share of the time. Settles with
 * the first reply. So a member may receive a request whose reply has come from another one: requests must be such that
 * only one of them takes effect.
 *
 * @param first the index of the member to ask first
 * @throws {EtcdError} if the request was refused, no member is reachable, or the time is over
 */
export async function askMembers<Request, Reply>(
  members: readonly Member[],
  first: number,
  call: Call<Request, Reply>,
): Promise<{ readonly member: Member; readonly reply: Reply }> {
  const { deadlineMs } = call;
  const running = new Map<Member, Attempt<Reply>>();
  const untried = [...members.slice(first), ...members.slice(0, first)];
  let pause = pauseMs.first;
  try {
    for (;;) {
      const leftMs = deadlineMs - performance.now();
      const next = leftMs > 0 ? untried.shift() : undefined;
      if (next !== undefined) running.set(next, attempt(next, call));
      if (running.size === 0) throw new EtcdError("etcd: no reply in time", "more time");
      const shareMs = untried.length > 0 ? leftMs / (untried.length + 1) : undefined;
      const outcome = await firstOf([...running.values()], shareMs);
      if (outcome === undefined) continue;
      const { member, reply, failure } = outcome;
      running.delete(member);
      if (failure === undefined) return { member, reply };
      const { remedy } = failure;
      if (!["another member", "again soon", "more time"].includes(remedy)) throw failure;
      if (remedy === "again soon") {
        untried.push(member);
        const restMs = deadlineMs - performance.now();
        if (restMs <= pause) throw failure;
        await sleep(pause);
        pause = Math.min(2 * pause, pauseMs.max);
      }
      if (running.size === 0 && untried.length === 0) throw failure;
    }
  } finally {
    for (const { cancel } of running.values()) cancel();
  }
}

/** Returns the first outcome, or undefined if there is none within a time. */
async function firstOf<Reply>(
  attempts: readonly Attempt<Reply>[],
  limitMs: number | undefined,
): Promise<Outcome<Reply> | undefined> {
  const outcomes = attempts.map(({ outcome }) => outcome);
  if (limitMs === undefined) return Promise.race(outcomes);
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, Math.max(1, limitMs), undefined);
  });
  try {
    return await Promise.race([...outcomes, limit]);
  } finally {
    clearTimeout(timer);
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
