import type { AcquireRequest, ExtendRequest, NodeRequest, ReleaseRequest } from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import { newCallId } from "./call-id.ts";
import { clusterSlot, slotCount } from "./cluster-slot.ts";
import type { ScriptCall } from "./connection.ts";
import { commonScript } from "./generated/common-script.ts";
import { lockScript } from "./generated/lock-script.ts";
import { fenceKey, lockKey, sharersKey, slotsError, waitingListKey } from "./keys.ts";
import type { AnswerReader, Operation, OperationRecord } from "./operation.ts";
import { readAcquire, readExtend, readIdentity, readNodeView, readRelease } from "./replies.ts";
import type { Script } from "./script.ts";

/** The options that records depend on. */
export interface EncodingOptions {
  readonly prefix: string;
  readonly restartGuardMs: number;
  /** Whether the keys of one call must share a slot. */
  readonly isCluster: boolean;
}

/**
 * Encodes requests as records. Each method throws if a request is invalid, or if its resources cannot be locked here.
 */
export interface Encoder {
  acquire(request: AcquireRequest): OperationRecord;
  extend(request: ExtendRequest): OperationRecord;
  release(request: ReleaseRequest): OperationRecord;
  /** @param sharersMax the most sharers in the reply; by default all of them */
  inspect(resource: string, sharersMax?: number): OperationRecord;
  identify(request: NodeRequest): OperationRecord;
  /** Returns the lock key of a resource. */
  lockKey(resource: string): string;
}

let latestEncoder: { readonly options: EncodingOptions; readonly encoder: Encoder } | undefined;

/**
 * Returns the encoder for the options. Nodes created in a row with the same options share one: core passes the same
 * request object to all nodes of a `Redlock`, so each request is encoded once.
 */
export function encoderFor({ prefix, restartGuardMs, isCluster }: EncodingOptions): Encoder {
  const last = latestEncoder?.options;
  if (last?.prefix !== prefix || last.restartGuardMs !== restartGuardMs || last.isCluster !== isCluster) {
    const options = { prefix, restartGuardMs, isCluster };
    latestEncoder = { options, encoder: createEncoder(options) };
  }
  return (latestEncoder as { readonly encoder: Encoder }).encoder;
}

function createEncoder({ prefix, restartGuardMs, isCluster }: EncodingOptions): Encoder {
  const fenceKeys: (string | undefined)[] = new Array(slotCount).fill(undefined);
  const fenceKeyOf = (slot: number): string => (fenceKeys[slot] ??= fenceKey(prefix, slot));

  /** Returns the first lock key. Throws if the resources cannot be locked together. */
  const check = (resources: readonly string[]): string => {
    const first = lockKey(prefix, resources[0] as string);
    if (resources.length === 1) return first;
    for (const resource of resources) lockKey(prefix, resource);
    const error = isCluster ? slotsError(prefix, resources) : undefined;
    if (error !== undefined) throw error;
    return first;
  };

  const lockScriptKeys = (resources: readonly string[]): readonly string[] => {
    const keys: string[] = [];
    for (const resource of resources) {
      const lock = prefix + resource;
      const slot = clusterSlot(lock);
      keys.push(lock, fenceKeyOf(slot), waitingListKey(lock, slot), sharersKey(lock, slot));
    }
    return keys;
  };

  /** All records are made here, so that V8 knows one kind of them. */
  const recordOf = (
    name: OperationRecord["name"],
    resources: readonly string[],
    commonKey: (firstKey: string, slot: number) => string | undefined,
    fields: readonly string[],
    lockScriptFields: readonly string[],
    read: AnswerReader,
    fenceHint?: number,
    epoch?: number,
  ): OperationRecord => {
    const firstKey = check(resources);
    return {
      name,
      resources,
      firstKey,
      commonKey: commonKey === never ? undefined : commonKey(firstKey, clusterSlot(firstKey)),
      lockScriptKeys,
      fields,
      lockScriptFields,
      fenceHint,
      epoch,
      read,
    };
  };
  const counter = (_: string, slot: number): string => fenceKeyOf(slot);

  return {
    lockKey: (resource) => lockKey(prefix, resource),
    acquire: rememberingLast((request) => {
      assertAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover = "", shared = false, epoch = 1, waiter = "" } = request;
      const isCommon = resources.length === 1 && !shared && takeover === "" && waiter === "" && restartGuardMs === 0;
      const fields = [owner, String(fenceHint), String(ttlMs), String(epoch)];
      const others = isCommon ? unshared : [takeover, waiter, flag(shared)];
      return recordOf("acquire", resources, isCommon ? counter : never, fields, others, readAcquire, fenceHint, epoch);
    }),
    extend: rememberingLast((request) => {
      assertExtend(request);
      const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
      const fields = [owner, String(fence), String(ttlMs), flag(shared), flag(rejoin)];
      return recordOf("extend", resources, never, fields, none, readExtend);
    }),
    release: rememberingLast((request) => {
      assertRelease(request);
      const { resources, owner, undo = false, waiter = "" } = request;
      const isCommon = resources.length === 1 && !undo && waiter === "";
      const list = isCommon ? waitingListKey : never;
      return recordOf("release", resources, list, [owner], [flag(!undo), waiter], readRelease);
    }),
    inspect: (resource, sharersMax = 2 ** 31) =>
      recordOf("inspect", [resource], never, [String(sharersMax)], none, readNodeView),
    identify: ({ resources }) => recordOf("identify", resources, (key) => key, none, none, readIdentity),
  };
}

const none: readonly string[] = [];
const unshared: readonly string[] = ["", "", "0"];

/** The second key of what the common script cannot do. */
function never(): undefined {
  return undefined;
}

function flag(isSet: boolean): "0" | "1" {
  return isSet ? "1" : "0";
}

/** Caches the record of the last request, unless that request may change. */
function rememberingLast<Request extends NodeRequest>(
  encode: (request: Request) => OperationRecord,
): (request: Request) => OperationRecord {
  let last: Request | undefined;
  let record: OperationRecord;
  return (request) => {
    if (request === last) return record;
    const encoded = encode(request);
    if (Object.isFrozen(request) && Object.isFrozen(request.resources)) {
      last = request;
      record = encoded;
    }
    return encoded;
  };
}

/** The words of a call, shared by all nodes that are sent the same operations in one tick. */
interface CallTemplate {
  readonly records: readonly OperationRecord[];
  readonly script: Script;
  /** The keys of all operations, in order. */
  readonly keys: readonly string[];
  readonly guardMs: number;
  /** A number that the reply must repeat, so that the reply to another call is recognised. */
  readonly callId: number;
  /** The whole command with no operation given up, and the text of the script that it was last encoded for. */
  text: string;
  textOf: string;
}

let latestTemplate: CallTemplate | undefined;

/**
 * Returns the template for the operations. Core sends the same requests to all nodes of a `Redlock` in a row, so their
 * calls of one tick are equal, and encoded once.
 */
function templateFor(operations: readonly Operation[], guardMs: number): CallTemplate {
  const { length } = operations;
  let script = commonScript;
  for (const { isCommon } of operations) if (!isCommon) script = lockScript;
  let template = latestTemplate;
  if (template?.script === script && template.guardMs === guardMs && template.records.length === length) {
    let index = 0;
    while (index < length && template.records[index] === (operations[index] as Operation).record) index += 1;
    if (index === length) return template;
  }
  const isCommon = script === commonScript;
  const records = new Array<OperationRecord>(length);
  const keys: string[] = [];
  for (let index = 0; index < length; index++) {
    const { record } = operations[index] as Operation;
    records[index] = record;
    if (isCommon) keys.push(record.firstKey, record.commonKey as string);
    else for (const key of record.lockScriptKeys(record.resources)) keys.push(key);
  }
  template = { records, script, keys, guardMs, callId: newCallId(), text: "", textOf: "" };
  latestTemplate = template;
  return template;
}
const live = ".";
const struckOut = "x";

const noOperations: readonly Operation[] = [];
const noTemplate: CallTemplate = {
  records: [],
  script: commonScript,
  keys: [],
  guardMs: 0,
  callId: 0,
  text: "",
  textOf: "",
};

/** A script call that runs operations of one node: of the common script if that may be able to do all of them. */
export class EncodedCall implements ScriptCall {
  /** A number that the reply must repeat. */
  readonly callId: number;
  readonly keyCount: number;
  readonly script: Script;
  operations: readonly Operation[];
  #template: CallTemplate;
  /** The marks of the operations, once `keysAndArguments` has returned them. */
  #marks: Buffer | undefined;

  /** @param guardMs how long after its start the server does not vote, in milliseconds */
  constructor(operations: readonly Operation[], guardMs: number) {
    const template = templateFor(operations, guardMs);
    this.operations = operations;
    this.callId = template.callId;
    this.keyCount = template.keys.length;
    this.script = template.script;
    this.#template = template;
    for (const operation of operations) operation.call = this;
  }

  /** Whether it may leave operations to the lock script. */
  get isCommon(): boolean {
    return this.script === commonScript;
  }

  get firstKey(): string {
    return (this.#template.records[0] as OperationRecord).firstKey;
  }

  keysAndArguments(): (string | Buffer)[] {
    this.#marks ??= Buffer.from(this.#currentMarks(), "latin1");
    return this.#addWords<string | Buffer>([], this.#marks);
  }

  encode(command: "EVALSHA" | "EVAL", script: string): string {
    const template = this.#template;
    for (const { isGivenUp } of this.operations) if (isGivenUp) return this.#encode(command, script);
    if (template.textOf !== script) {
      template.text = this.#encode(command, script);
      template.textOf = script;
    }
    return template.text;
  }

  /** Strikes out an operation: it has no effect unless it is already written to the socket. */
  strikeOut(operation: Operation): void {
    this.#marks?.write(struckOut, this.operations.indexOf(operation), "latin1");
  }

  /**
   * Drops the operations of a call that was answered. Queues of clients link each command to the next: one that has
   * survived for a while keeps all later ones, and what they refer to, until the next full garbage collection.
   */
  forget(): void {
    this.operations = noOperations;
    this.#template = noTemplate;
  }

  #encode(command: string, script: string): string {
    return encodeCommand(this.#addWords([command, script, String(this.keyCount)], this.#currentMarks()));
  }

  /** Adds the keys and arguments to words, and returns those. */
  #addWords<Word>(words: (string | Word)[], marks: Word): (string | Word)[] {
    const { records, keys, callId, guardMs } = this.#template;
    const { isCommon } = this;
    for (const key of keys) words.push(key);
    words.push(String(callId), marks);
    if (!isCommon) words.push(String(guardMs));
    for (const { name, resources, fields, lockScriptFields } of records) {
      words.push(name);
      if (!isCommon) words.push(String(resources.length));
      for (const field of fields) words.push(field);
      if (!isCommon) for (const field of lockScriptFields) words.push(field);
    }
    return words;
  }

  #currentMarks(): string {
    let marks = "";
    for (const operation of this.operations) marks += operation.isGivenUp ? struckOut : live;
    return marks;
  }
}

/** Returns a command in the Redis protocol. */
export function encodeCommand(words: readonly string[]): string {
  const parts = [`*${words.length}`];
  for (const word of words) pushBulk(parts, word);
  parts.push("\r\n");
  return parts.join("");
}

/** Adds a word as a bulk string of the Redis protocol. The next part starts with the line break that ends this one. */
function pushBulk(parts: string[], word: string): void {
  const length = Buffer.byteLength(word);
  parts.push(lengthLines[length] ?? lengthLine(length), word);
}

function lengthLine(length: number): string {
  return `\r\n$${length}\r\n`;
}

/** The length lines of short words. */
const lengthLines: readonly string[] = Array.from({ length: 256 }, (_, length) => lengthLine(length));
