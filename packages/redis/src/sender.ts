import type { NodeRequest } from "@holdfast/core";
import type { ScriptCall } from "./calls.ts";
import { type Claim, createClaims, timerMsMax } from "./claims.ts";
import type { RedisConnection } from "./connection.ts";
import { readTicket } from "./replies.ts";
import { scriptSha, scriptSource } from "./script.ts";

/** Sends the operations of one node, and decides what may be sent when. All resolve with what follows the ticket. */
export interface Sender {
  /** Sends what would be harmful if it arrived late: at once or not at all, and never after it was given up. */
  claim(verb: "acquire" | "extend", request: NodeRequest, call: ScriptCall): Promise<unknown[]>;
  /** Sends what is good to arrive however late, and gives up those claims of the owner that have not been sent. */
  release(request: NodeRequest, call: ScriptCall): Promise<unknown[]>;
  /** Sends what changes nothing. */
  inspect(call: ScriptCall): Promise<unknown[]>;
  /**
   * Asks the server who it is, and brings it the script, so that the claim behind it finds it there. Settles in time, as
   * other claims wait for the answer.
   */
  introduce(request: NodeRequest, call: ScriptCall): Promise<unknown[]>;
  /** Whether what is sent now for these keys goes to their server now. */
  isConnected(keys: readonly string[]): boolean;
  /** Throws unless what is sent now for these keys goes to their server now. */
  insistOnConnection(keys: readonly string[]): void;
  /** Throws, too, when so much waits for an answer that nothing more may be asked. */
  insistOnReadiness(keys: readonly string[]): void;
}

/**
 * How many commands may wait for an answer before claims are refused. A server that hangs stays connected for minutes
 * until the network gives up, and clients queue without bound. Twice as many for releases: each undoes a claim.
 */
const unansweredMax = 10_000;

/** How often a claim that was given up and has no answer looks whether its connection is still there. */
const lossCheckMs = 1_000;

/** Counts for the whole process, as nodes may share a client, from anywhere, as processes may share a proxy. */
let lastTicket = Math.floor(Math.random() * 2 ** 30);

/** Makes the sender of one node. */
export function createSender(connection: RedisConnection): Sender {
  const claims = createClaims();
  let unanswered = 0;

  const runScript = async (keyCount: number, words: Words, claim: Claim | undefined): Promise<unknown> => {
    try {
      return await connection.runScript("EVALSHA", scriptSha, keyCount, words, claim && leftMs(claim));
    } catch (error) {
      if (!messageOf(error).startsWith("NOSCRIPT")) throw error;
    }
    if (claim?.isGivenUp) throw new Error("the server did not know the script, and time was up before it was sent");
    // Loads the script and runs it, so that a release waits for no step that might not come to its end.
    return connection.runScript("EVAL", scriptSource, keyCount, words, claim && leftMs(claim));
  };
  /** Counts and marks what is sent, so that its reply can be told from others. */
  const ask = async (send: (ticket: string) => Promise<unknown>): Promise<unknown[]> => {
    lastTicket += 1;
    const ticket = String(lastTicket);
    unanswered += 1;
    try {
      return readTicket(await send(ticket), ticket);
    } catch (error) {
      // Clients hang the whole command on their errors, and with it the owner.
      throw new Error(messageOf(error));
    } finally {
      unanswered -= 1;
    }
  };
  const run = (verb: string | Buffer, { keys, rest }: ScriptCall, claim?: Claim): Promise<unknown[]> =>
    ask((ticket) => runScript(keys.length, [...keys, verb, ticket, ...rest], claim));
  /**
   * Settles a claim that was given up, once its connection is lost: some clients keep the command until there is another
   * connection, which may be never. As long as there is one, it is too early to say so: an answer that has arrived may
   * be waiting for its turn.
   */
  const unlessLost = <T>(claim: Claim, { keys }: ScriptCall, reply: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const rejectIfLost = (): void => {
        if (connection.isReady(keys[0] as string)) claim.timer = setTimeout(rejectIfLost, lossCheckMs);
        else reject(new Error("the connection was lost before the answer came"));
      };
      claim.onGivenUp = rejectIfLost;
      reply.then(resolve, reject);
    });
  const insistOnRoom = (max: number): void => {
    if (unanswered >= max) throw new Error(`${unanswered} commands are waiting for an answer already`);
  };
  const isConnected = ([key]: readonly string[]): boolean => connection.isReady(key as string);
  const insistOnConnection = (keys: readonly string[]): void => {
    if (!isConnected(keys)) throw new Error("the client is not connected");
  };
  const insistOnReadiness = (keys: readonly string[]): void => {
    insistOnConnection(keys);
    insistOnRoom(unansweredMax);
  };

  return {
    isConnected,
    insistOnConnection,
    insistOnReadiness,
    async claim(verb, { owner, timeoutMs }, call) {
      insistOnReadiness(call.keys);
      const claim = claims.open(verb, owner, timeoutMs);
      try {
        const reply = run(claim.verb, call, claim);
        return await (connection.settlesInTime ? reply : unlessLost(claim, call, reply));
      } finally {
        claims.close(claim);
      }
    },
    async release({ owner }, call) {
      claims.giveUp(owner);
      insistOnRoom(2 * unansweredMax);
      return run("release", call);
    },
    async introduce({ timeoutMs }, { keys }) {
      insistOnReadiness(keys);
      const words = (ticket: string): Words => [...keys, "introduce", ticket];
      return within(
        timeoutMs,
        ask((ticket) => connection.runScript("EVAL", scriptSource, keys.length, words(ticket), timeoutMs)),
      );
    },
    async inspect(call) {
      insistOnReadiness(call.keys);
      return run("inspect", call);
    },
  };
}

type Words = readonly (string | Buffer)[];

/** The same, unless it takes too long. What has arrived by then still counts, as it does to core. */
function within<T>(timeoutMs: number, reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = new Error("time was up before the server answered");
    const timer = setTimeout(() => setImmediate(reject, late), Math.min(timeoutMs, timerMsMax));
    reply.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function leftMs({ endMs }: Claim): number {
  return Math.max(0, endMs - performance.now());
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // That of an AggregateError, as for a host with several addresses, is empty.
  return error.message || String((error as { code?: unknown }).code ?? error.name);
}
