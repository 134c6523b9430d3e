import type { RedisConnection } from "./connection.ts";
import { messageOf } from "./message-of.ts";
import { isClaim, type Operation, revoke } from "./operation.ts";
import type { Settings } from "./options.ts";
import { insistOnReply } from "./replies.ts";
import { scriptSha, scriptSource } from "./script.ts";
import { Flight } from "./script-call.ts";
import { nextTicket } from "./ticket.ts";

/** Sends operations, and settles each of them. */
export interface Dispatch {
  /** Sends these in one call, which runs them in this order. */
  send(operations: readonly Operation[]): void;
  /** The same, and brings the server the script. */
  sendScript(operations: readonly Operation[]): void;
}

/** What hears of operations. */
export interface DispatchListener {
  /** Called when operations were answered, or failed: just before their promises settle. */
  ended(operations: readonly Operation[]): void;
  /** Called when a call has failed and the connection is not there. */
  foundLost(): void;
}

type Command = "EVALSHA" | "EVAL";

/** Makes the dispatch of one node. */
export function createDispatch(
  connection: RedisConnection,
  { restartGuardMs }: Settings,
  { ended, foundLost }: DispatchListener,
): Dispatch {
  const guard = restartGuardMs === 0 ? undefined : String(restartGuardMs);

  const depart = (all: readonly Operation[], command: Command): void => {
    const operations = all.some(isGivenUp) ? all.filter(refuseIfGivenUp) : all;
    if (operations.length === 0) return;
    const flight = new Flight(nextTicket(), operations, guard);
    for (const operation of operations) operation.flight = flight;
    run(flight, command);
  };
  const run = (flight: Flight, command: Command): void => {
    const script = command === "EVAL" ? scriptSource : scriptSha;
    replyTo(flight, command, script).then(
      (value) => land(flight, value),
      (error) => fail(flight, command, messageOf(error)),
    );
  };
  /** A library that throws has failed, too. */
  const replyTo = (flight: Flight, command: Command, script: string): Promise<unknown> => {
    try {
      return connection.runScript(command, script, flight, timeoutMsOf(flight));
    } catch (error) {
      return Promise.reject(error);
    }
  };
  const land = ({ operations, ticket }: Flight, reply: unknown): void => {
    ended(operations);
    try {
      insistOnReply(reply, ticket, operations);
    } catch (error) {
      for (const { reject } of operations) reject(error);
      return;
    }
    let at = 1;
    for (const { phrase, reader, resolve, reject } of operations) {
      try {
        resolve(reader.read(reply, at, phrase.resources));
      } catch (error) {
        reject(error);
      }
      at += reader.size;
    }
  };
  const fail = (flight: Flight, command: Command, message: string): void => {
    const { operations } = flight;
    if (command === "EVALSHA" && message.startsWith("NOSCRIPT")) {
      bringScript(flight);
      return;
    }
    const isConnected = connection.isReady(flight.firstKey);
    if (!isConnected) foundLost();
    // It may be about one of them, as where the user may not touch its key: each is tried by itself.
    const isWorthAnother = operations.length > 1 && isConnected && isAboutKeys(message);
    for (const operation of operations) {
      if (isWorthAnother) depart([operation], "EVALSHA");
      else refuse(operation, message);
    }
  };
  /** Sends the script with the operations, so that a release waits for no step that might not come to its end. */
  const bringScript = (flight: Flight): void => {
    const late = flight.operations.filter(isGivenUp);
    const message = "the server did not know the script, and time was up before it was sent";
    if (late.length < flight.operations.length) {
      for (const { reject } of late) reject(new Error(message));
      run(flight, "EVAL");
    } else {
      for (const operation of late) refuse(operation, message);
    }
  };
  // Clients hang the whole command on their errors, and with it the owner: what is told is a new one. A client may keep what
  // it has failed, as by a timeout of its own, and send it again after a reconnection: a claim must have no effect then.
  const refuse = (operation: Operation, message: string): void => {
    if (isClaim(operation)) revoke(operation);
    ended([operation]);
    operation.reject(new Error(message));
  };
  const refuseIfGivenUp = (operation: Operation): boolean => {
    if (!operation.isGivenUp) return true;
    const isConnected = connection.isReady(operation.phrase.keys[0] as string);
    refuse(operation, isConnected ? "time was up before it was sent" : "the client is not connected");
    return false;
  };
  return {
    send: (operations) => depart(operations, "EVALSHA"),
    sendScript: (operations) => depart(operations, "EVAL"),
  };
}

function isGivenUp(operation: Operation): boolean {
  return operation.isGivenUp;
}

/**
 * Whether a server refuses a call for its keys, and may not refuse each operation for its own: one that the user may not
 * touch, or several of different slots. All else is about the server, which is not to be asked once more for each when it is
 * in trouble (`LOADING`, `BUSY`, `MASTERDOWN`, …), or about keys that share a slot (`MOVED`, `ASK`).
 */
function isAboutKeys(message: string): boolean {
  return /^(NOPERM|CROSSSLOT) /.test(message);
}

/** How long what is sent alone may wait for its answer. Of several, each is given up by itself. */
function timeoutMsOf({ operations }: Flight): number | undefined {
  const [operation] = operations;
  if (operation?.owner === undefined || operations.length > 1) return undefined;
  return Math.max(0, operation.endMs - performance.now());
}
