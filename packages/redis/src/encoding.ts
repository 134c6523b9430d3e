import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  NodeRequest,
  NodeView,
  ReleaseReply,
  ReleaseRequest,
} from "@holdfast/core";
import { ConfigurationError } from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import { clusterSlot, slotCount } from "./cluster-slot.ts";
import type { ScriptCall } from "./connection.ts";
import { commonScript } from "./generated/common-script.ts";
import { lockScript } from "./generated/lock-script.ts";
import { fenceKey, lockKey, sharersKey, slotsError, waitingListKey } from "./keys.ts";
import type { Operation, OperationRecord } from "./operation.ts";
import { readAcquire, readExtend, readIdentity, readNodeView, readRelease } from "./replies.ts";
import { newCallId, type Script } from "./script.ts";
import type { ServerIdentity } from "./server-check.ts";

/**
 * Encodes requests as records, and records as calls. Each method throws if a request is invalid, or if its resources
 * cannot be locked here.
 */
export interface Encoder {
  acquire(request: AcquireRequest): OperationRecord<AcquireReply>;
  extend(request: ExtendRequest): OperationRecord<ExtendReply>;
  release(request: ReleaseRequest): OperationRecord<ReleaseReply>;
  /** @param sharersMax the most sharers in the reply; by default all of them */
  inspect(resource: string, sharersMax?: number): OperationRecord<NodeView>;
  identify(request: NodeRequest): OperationRecord<ServerIdentity>;
  /** Returns the call that runs the operations of one node in this order. */
  call(operations: readonly Operation[]): EncodedCall;
}

let latest: { readonly options: string; readonly encoder: Encoder } | undefined;

/**
 * Returns the encoder for the options. Nodes created in a row with the same options share one: core passes the same
 * request object to all nodes of a `Redlock`, so each request is encoded once.
 *
 * @param restartGuardMs how long after its start the server does not vote, in milliseconds
 * @param isCluster whether the keys of one call must share a slot
 */
export function encoderFor(prefix: string, restartGuardMs: number, isCluster: boolean): Encoder {
  const options = JSON.stringify([prefix, restartGuardMs, isCluster]);
  if (latest?.options !== options) latest = { options, encoder: createEncoder(prefix, restartGuardMs, isCluster) };
  return latest.encoder;
}

function createEncoder(prefix: string, restartGuardMs: number, isCluster: boolean): Encoder {
  const fenceKeys: (string | undefined)[] = new Array(slotCount).fill(undefined);
  const fenceKeyOf = (slot: number): string => (fenceKeys[slot] ??= fenceKey(prefix, slot));

  /** Returns the first lock key. Throws if the resources cannot be locked together. */
  const firstKeyOf = (resources: readonly string[]): string => {
    const first = lockKey(prefix, resources[0] as string);
    if (resources.length === 1) return first;
    for (const resource of resources) lockKey(prefix, resource);
    const error = isCluster ? slotsError(prefix, resources) : undefined;
    if (error !== undefined) throw error;
    return first;
  };

  /**
   * Throws if the ttl is longer than the guard: the server could forget the claim in a restart, and grant its resources
   * again.
   */
  const assertTtl = ({ ttlMs, resources }: AcquireRequest | ExtendRequest): void => {
    if (restartGuardMs === 0 || ttlMs <= restartGuardMs) return;
    const rule = `ttlMs must not be longer than the restartGuardMs of the node, ${restartGuardMs}`;
    throw new ConfigurationError(`${rule}, not ${ttlMs}`, resources);
  };

  const addLockScriptKeys = (words: string[], resources: readonly string[]): void => {
    for (const resource of resources) {
      const lock = prefix + resource;
      const slot = clusterSlot(lock);
      words.push(lock, fenceKeyOf(slot), waitingListKey(lock, slot), sharersKey(lock, slot));
    }
  };

  const templateFor = (operations: readonly Operation[], script: Script): CallTemplate => {
    const isCommon = script === commonScript;
    const records: OperationRecord[] = [];
    const words: string[] = [];
    for (const { record } of operations) {
      records.push(record);
      if (isCommon) words.push(record.firstKey, record.commonKey as string);
      else addLockScriptKeys(words, record.resources);
    }
    const keyCount = words.length;
    const callId = newCallId();
    words.push(String(callId), live.repeat(records.length));
    if (!isCommon) words.push(String(restartGuardMs));
    for (const { name, resources, fields, moreFields } of records) {
      words.push(name);
      if (!isCommon) words.push(String(resources.length));
      for (const field of fields) words.push(field);
      if (!isCommon) for (const field of moreFields) words.push(field);
    }
    return { records, script, callId, keyCount, words, text: "", textOf: "" };
  };
  let template: CallTemplate = noTemplate;

  return {
    acquire: rememberingLast((request) => {
      assertAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover = "", shared = false, epoch = 1, waiter = "" } = request;
      const firstKey = firstKeyOf(resources);
      assertTtl(request);
      const isCommon = resources.length === 1 && !shared && takeover === "" && waiter === "" && restartGuardMs === 0;
      const commonKey = isCommon ? fenceKeyOf(clusterSlot(firstKey)) : undefined;
      const fields = [owner, String(fenceHint), String(ttlMs), String(epoch)];
      const moreFields = isCommon ? unshared : [takeover, waiter, flag(shared)];
      const read = (answer: unknown) => readAcquire(answer, resources, fenceHint, epoch);
      return { name: "acquire", resources, firstKey, commonKey, fields, moreFields, read };
    }),
    extend: rememberingLast((request) => {
      assertExtend(request);
      const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
      const firstKey = firstKeyOf(resources);
      assertTtl(request);
      const fields = [owner, String(fence), String(ttlMs), flag(shared), flag(rejoin)];
      return { name: "extend", resources, firstKey, commonKey: undefined, fields, moreFields: none, read: readExtend };
    }),
    release: rememberingLast((request) => {
      assertRelease(request);
      const { resources, owner, undo = false, waiter = "" } = request;
      const firstKey = firstKeyOf(resources);
      const isCommon = resources.length === 1 && !undo && waiter === "";
      const commonKey = isCommon ? waitingListKey(firstKey, clusterSlot(firstKey)) : undefined;
      const moreFields = [flag(!undo), waiter];
      return { name: "release", resources, firstKey, commonKey, fields: [owner], moreFields, read: readRelease };
    }),
    inspect(resource, sharersMax = 2 ** 31) {
      const firstKey = lockKey(prefix, resource);
      const [resources, fields] = [[resource], [String(sharersMax)]];
      return {
        name: "inspect",
        resources,
        firstKey,
        commonKey: undefined,
        fields,
        moreFields: none,
        read: readNodeView,
      };
    },
    identify({ resources }) {
      const firstKey = firstKeyOf(resources);
      const [commonKey, fields, moreFields] = [firstKey, none, none];
      return { name: "identify", resources, firstKey, commonKey, fields, moreFields, read: readIdentity };
    },
    call(operations) {
      let script = commonScript;
      for (const { isCommon } of operations) if (!isCommon) script = lockScript;
      const { records } = template;
      const isSameCall = template.script === script && records.length === operations.length;
      if (!isSameCall || operations.some(({ record }, index) => record !== records[index])) {
        template = templateFor(operations, script);
      }
      return new EncodedCall(operations, template);
    },
  };
}

const none: readonly string[] = [];
const unshared: readonly string[] = ["", "", "0"];

function flag(isSet: boolean): "0" | "1" {
  return isSet ? "1" : "0";
}

/** Caches the record of the last request, unless that request may change. */
function rememberingLast<Request extends NodeRequest, Answer>(
  encode: (request: Request) => OperationRecord<Answer>,
): (request: Request) => OperationRecord<Answer> {
  let last: Request | undefined;
  let record: OperationRecord<Answer>;
  return (request) => {
    if (request === last) return record;
    last = undefined;
    record = encode(request);
    if (Object.isFrozen(request) && Object.isFrozen(request.resources)) last = request;
    return record;
  };
}

/**
 * The words of a call. Core sends the same requests to all nodes of a `Redlock` in a row, so their calls of one tick are
 * equal, and encoded once.
 */
interface CallTemplate {
  readonly records: readonly OperationRecord[];
  readonly script: Script;
  /** A number that the reply must repeat, so that the reply to another call is recognised. */
  readonly callId: number;
  readonly keyCount: number;
  /** The keys, the call id, the marks of operations of which none is given up, and the other arguments. */
  readonly words: readonly string[];
  /** The whole command with these words, and the text of the script that it was last encoded for. */
  text: string;
  textOf: string;
}

const noOperations: readonly Operation[] = [];
const noTemplate = { records: [], script: commonScript, callId: 0, keyCount: 0, words: [], text: "", textOf: "" };

const live = ".";
const struckOut = "x";

/** A script call that runs operations of one node: of the common script if that may be able to do all of them. */
export class EncodedCall implements ScriptCall {
  operations: readonly Operation[];
  template: CallTemplate;
  readonly firstKey: string;
  readonly keyCount: number;
  /** The marks of the operations, once they have been read or have changed. */
  #marks: Buffer | undefined;

  constructor(operations: readonly Operation[], template: CallTemplate) {
    this.operations = operations;
    this.template = template;
    this.firstKey = template.words[0] as string;
    this.keyCount = template.keyCount;
    for (const operation of operations) operation.call = this;
  }

  keysAndArguments(): (string | Buffer)[] {
    const words: (string | Buffer)[] = [...this.template.words];
    words[this.keyCount + 1] = this.#ownMarks();
    return words;
  }

  encode(command: "EVALSHA" | "EVAL", script: string): string {
    const { template, keyCount } = this;
    if (this.#marks !== undefined) return encodeCommand(command, script, keyCount, this.keysAndArguments());
    if (template.textOf !== script) {
      template.text = encodeCommand(command, script, keyCount, template.words);
      template.textOf = script;
    }
    return template.text;
  }

  /** Strikes out an operation: it has no effect unless it is already written to the socket. */
  strikeOut(operation: Operation): void {
    this.#ownMarks().write(struckOut, this.operations.indexOf(operation), "latin1");
  }

  /**
   * Drops the operations of a call that was answered. Queues of clients link each command to the next: one that has
   * survived for a while keeps all later ones, and what they refer to, until the next full garbage collection.
   */
  forget(): void {
    this.operations = noOperations;
    this.template = noTemplate;
  }

  #ownMarks(): Buffer {
    this.#marks ??= Buffer.from(this.template.words[this.keyCount + 1] as string, "latin1");
    return this.#marks;
  }
}

/**
 * Returns a command in the Redis protocol.
 *
 * @param words the keys and the arguments; those that are bytes must be ASCII
 */
export function encodeCommand(
  command: string,
  script: string,
  keyCount: number,
  words: readonly (string | Buffer)[],
): string {
  const parts: (string | Buffer)[] = [`*${words.length + 3}`];
  // The length line of each word begins with the line break that ends the word before.
  for (const word of [command, script, String(keyCount), ...words]) {
    const length = Buffer.byteLength(word);
    parts.push(lengthLines[length] ?? lengthLine(length), word);
  }
  parts.push("\r\n");
  return parts.join("");
}

function lengthLine(length: number): string {
  return `\r\n$${length}\r\n`;
}

/** The length lines of short words. */
const lengthLines: readonly string[] = Array.from({ length: 256 }, (_, length) => lengthLine(length));
