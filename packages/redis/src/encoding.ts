import { ConfigurationError } from "@holdfast/core";
import {
  type AcquireReply,
  type AcquireRequest,
  assertAcquire,
  assertExtend,
  assertRelease,
  type ExtendReply,
  type ExtendRequest,
  type NodeRequest,
  type NodeView,
  type ReleaseReply,
  type ReleaseRequest,
  type ServerIdentity,
} from "@holdfast/core/node";
import type { ScriptCall } from "./connection.ts";
import { commonScript } from "./generated/common-script.ts";
import { lockScript } from "./generated/lock-script.ts";
import { clusterSlot, fenceKey, lockKey, sharersKey, slotsError, waitingListKey } from "./keys.ts";
import type { Operation, OperationRecord } from "./operation.ts";
import { newCallId, readAcquire, readExtend, readIdentity, readNodeView, readRelease } from "./replies.ts";
import type { Script } from "./script.ts";

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
  if (latest?.options !== options) latest = { options, encoder: new Encoder(prefix, restartGuardMs, isCluster) };
  return latest.encoder;
}

/**
 * Encodes requests as records, and records as calls. Each method throws if a request is invalid, or if its resources
 * cannot be locked here.
 */
export class Encoder {
  readonly #prefix: string;
  readonly #restartGuardMs: number;
  readonly #isCluster: boolean;
  /** The latest request that cannot change, and its record. */
  #request: object | undefined;
  #record: OperationRecord<never> | undefined;
  /** The words of the latest call. */
  #template = noTemplate;
  #callId = newCallId();

  constructor(prefix: string, restartGuardMs: number, isCluster: boolean) {
    this.#prefix = prefix;
    this.#restartGuardMs = restartGuardMs;
    this.#isCluster = isCluster;
  }

  acquire(request: AcquireRequest): OperationRecord<AcquireReply> {
    if (request === this.#request && this.#record?.name === "acquire") return this.#record;
    assertAcquire(request);
    const { resources, owner, ttlMs, fenceHint, takeover = "", shared = false, epoch = 1, waiter = "" } = request;
    const isSimple = resources.length === 1 && !shared && takeover === "" && waiter === "";
    const fields = [owner, String(fenceHint), String(ttlMs), String(epoch), takeover, waiter, shared ? "1" : "0"];
    return this.#recordOf("acquire", request, isSimple && this.#restartGuardMs === 0, fields, readAcquire);
  }

  extend(request: ExtendRequest): OperationRecord<ExtendReply> {
    if (request === this.#request && this.#record?.name === "extend") return this.#record;
    assertExtend(request);
    const { owner, ttlMs, fence, rejoin, shared = false } = request;
    const fields = [owner, String(fence), String(ttlMs), shared ? "1" : "0", rejoin ? "1" : "0"];
    return this.#recordOf("extend", request, false, fields, readExtend);
  }

  release(request: ReleaseRequest): OperationRecord<ReleaseReply> {
    if (request === this.#request && this.#record?.name === "release") return this.#record;
    assertRelease(request);
    const { resources, owner, undo = false, waiter = "" } = request;
    const isSimple = resources.length === 1 && !undo && waiter === "";
    return this.#recordOf("release", request, isSimple, [owner, undo ? "0" : "1", waiter], readRelease);
  }

  /** @param sharersMax the most sharers in the reply; by default all of them */
  inspect(resource: string, sharersMax: number = 2 ** 31): OperationRecord<NodeView> {
    return this.#recordOf("inspect", { resources: [resource], owner: "" }, false, [String(sharersMax)], readNodeView);
  }

  identify({ resources }: NodeRequest): OperationRecord<ServerIdentity> {
    return this.#recordOf("identify", { resources, owner: "" }, true, [], readIdentity);
  }

  /**
   * Returns a record, and remembers it if the request cannot change. Throws if the resources cannot be locked together, or if
   * the ttl is longer than the guard: the server could forget the claim in a restart, and grant its resources again.
   *
   * @param isCommon whether the common script may be able to do the operation
   */
  #recordOf<Answer>(
    name: OperationRecord["name"],
    request: Pick<NodeRequest, "resources" | "owner"> & { readonly ttlMs?: number },
    isCommon: boolean,
    fields: readonly string[],
    read: OperationRecord<Answer>["read"],
  ): OperationRecord<Answer> {
    const { resources, owner, ttlMs = 0 } = request;
    const key = lockKey(this.#prefix, resources[0] as string);
    for (let index = 1; index < resources.length; index++) lockKey(this.#prefix, resources[index] as string);
    const error = this.#isCluster && resources.length > 1 ? slotsError(this.#prefix, resources) : undefined;
    if (error !== undefined) throw error;
    const guardMs = this.#restartGuardMs;
    if (guardMs !== 0 && ttlMs > guardMs) {
      const rule = `ttlMs must not be longer than the restartGuardMs of the node, ${guardMs}`;
      throw new ConfigurationError(`${rule}, not ${ttlMs}`, resources);
    }
    let commonKey: string | undefined;
    if (isCommon && name === "acquire") commonKey = fenceKey(this.#prefix, clusterSlot(key));
    else if (isCommon) commonKey = name === "release" ? waitingListKey(key, clusterSlot(key)) : key;
    const isClaim = name === "acquire" || name === "extend";
    const record = { name, resources, isClaim, owner, key, commonKey, fields, read };
    this.#request = Object.isFrozen(request) && Object.isFrozen(resources) ? request : undefined;
    this.#record = record as OperationRecord<never>;
    return record;
  }

  /** Returns the call that runs the operations of one node in this order: of the common script if it may do them all. */
  call(operations: readonly Operation[]): EncodedCall {
    const { records } = this.#template;
    let script = commonScript;
    let isRepeated = records.length === operations.length;
    for (let index = 0; index < operations.length; index++) {
      const { record, isCommon } = operations[index] as Operation;
      if (!isCommon) script = lockScript;
      isRepeated &&= record === records[index];
    }
    if (!isRepeated || this.#template.script !== script) this.#template = this.#templateOf(operations, script);
    const template = this.#template;
    const { firstKey, keyCount } = template;
    return { firstKey, keyCount, operations, template, marks: undefined, position: 0, keysAndArguments, encode };
  }

  #templateOf(operations: readonly Operation[], script: Script): CallTemplate {
    const isCommon = script === commonScript;
    const records: OperationRecord[] = [];
    const words = ["EVALSHA", script.sha, ""];
    let hasClaims = false;
    let marks = "";
    for (let index = 0; index < operations.length; index++) {
      const { record } = operations[index] as Operation;
      records.push(record);
      marks += isCommon ? record.name.charAt(0) : live;
      hasClaims ||= record.isClaim;
      if (isCommon) words.push(record.key, record.commonKey as string);
      else this.#addLockScriptKeys(words, record.resources);
    }
    const keyCount = words.length - firstKeyAt;
    words[keyCountAt] = String(keyCount);
    this.#callId += 1;
    const callId = this.#callId;
    const marksAt = words.push(String(callId), marks) - 1;
    if (!isCommon) words.push(String(this.#restartGuardMs));
    for (let index = 0; index < records.length; index++) {
      const { name, resources, fields } = records[index] as OperationRecord;
      if (!isCommon) words.push(name, String(resources.length));
      const fieldCount = isCommon ? commonFieldsOf[name] : fields.length;
      for (let field = 0; field < fieldCount; field++) words.push(fields[field] as string);
    }
    const firstKey = words[firstKeyAt] as string;
    return { records, script, hasClaims, callId, firstKey, keyCount, words, marksAt, text: undefined };
  }

  #addLockScriptKeys(words: string[], resources: readonly string[]): void {
    for (const resource of resources) {
      const lock = this.#prefix + resource;
      const slot = clusterSlot(lock);
      words.push(lock, fenceKey(this.#prefix, slot), waitingListKey(lock, slot), sharersKey(lock, slot));
    }
  }
}

const live = ".";
const struckOut = "x";

/**
 * How many of the fields the common script takes. It knows its operations by the first letters of their names, and only an
 * acquire is ever struck out there.
 */
const commonFieldsOf = { acquire: 4, extend: 0, release: 1, inspect: 0, identify: 0 };

/**
 * The words of a call. Core sends the same requests to all nodes of a `Redlock` in a row, so their calls of one tick are
 * equal, and encoded once.
 */
interface CallTemplate {
  readonly records: readonly OperationRecord[];
  readonly script: Script;
  readonly hasClaims: boolean;
  /** A number that the reply must repeat, so that the reply to another call is recognised. */
  readonly callId: number;
  readonly firstKey: string;
  readonly keyCount: number;
  /**
   * The whole command: its keys, the call id, a mark for each operation, of which none is given up, and the other
   * arguments.
   */
  readonly words: readonly string[];
  readonly marksAt: number;
  /** The words in the Redis protocol, once they have been encoded. */
  text: string | undefined;
}

const keyCountAt = 2;
const firstKeyAt = 3;
/** What a call has once it was answered. */
export const noOperations: readonly Operation[] = [];
export const noTemplate: CallTemplate = {
  ...{ records: [], script: commonScript, hasClaims: false, callId: 0 },
  ...{ firstKey: "", keyCount: 0, words: [], marksAt: 0, text: undefined },
};

/** A script call that runs operations of one node. */
export interface EncodedCall extends ScriptCall {
  operations: readonly Operation[];
  template: CallTemplate;
  /** The marks of the operations, once they have been read or have changed. */
  marks: Buffer | undefined;
  /** Where it is among the calls with pending claims. */
  position: number;
}

/** See {@link ScriptCall.keysAndArguments}. */
function keysAndArguments(this: EncodedCall): (string | Buffer)[] {
  const { words, marksAt } = this.template;
  const own: (string | Buffer)[] = words.slice(firstKeyAt);
  own[marksAt - firstKeyAt] = marksOf(this);
  return own;
}

/** See {@link ScriptCall.encode}. */
function encode(this: EncodedCall, command: "EVALSHA" | "EVAL", script: string): string {
  const { template } = this;
  if (this.marks !== undefined || script !== template.script.sha) {
    return encodeCommand([command, script, String(template.keyCount), ...this.keysAndArguments()]);
  }
  template.text ??= encodeCommand(template.words);
  return template.text;
}

/** Gives up an operation of a call: it has no effect unless it is already written to the socket. */
export function giveUp(operation: Operation, call: EncodedCall): void {
  operation.isGivenUp = true;
  marksOf(call).write(struckOut, call.operations.indexOf(operation), "latin1");
}

function marksOf(call: EncodedCall): Buffer {
  call.marks ??= Buffer.from(call.template.words[call.template.marksAt] as string, "latin1");
  return call.marks;
}

/** Returns a command in the Redis protocol. Words that are bytes must be ASCII. */
export function encodeCommand(words: readonly (string | Buffer)[]): string {
  const parts: (string | Buffer)[] = [`*${words.length}`];
  // The length line of each word begins with the line break that ends the word before.
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as string | Buffer;
    parts.push(lengthLines[word.length] ?? lengthLine(word.length), word);
  }
  parts.push("\r\n");
  const text = parts.join("");
  if (Buffer.byteLength(text) === text.length) return text;
  // Not all characters are one byte long.
  for (const [index, word] of words.entries()) parts[2 * index + 1] = lengthLine(Buffer.byteLength(word));
  return parts.join("");
}

const lengthLine = (length: number): string => `\r\n$${length}\r\n`;

/** The length lines of short words. */
const lengthLines: readonly string[] = Array.from({ length: 256 }, (_, length) => lengthLine(length));
