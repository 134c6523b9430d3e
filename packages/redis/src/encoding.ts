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
} from "@holdfast/core/node";
import type { ScriptCall } from "./connection.ts";
import { commonScript } from "./generated/common-script.ts";
import { lockScript } from "./generated/lock-script.ts";
import { clusterSlot, fenceKey, lockKey, sharersKey, slotCount, slotsError, waitingListKey } from "./keys.ts";
import type { CallTemplate, Operation, OperationRecord } from "./operation.ts";
import { assertCallId, nonsense, readAcquire, readExtend, readIdentity, readNodeView, readRelease } from "./replies.ts";
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

/** Returns a function that makes the template of calls with these operations. */
function createTemplates(prefix: string, restartGuardMs: number, fenceKeyOf: (slot: number) => string) {
  const addLockScriptKeys = (words: string[], resources: readonly string[]): void => {
    for (const resource of resources) {
      const lock = prefix + resource;
      const slot = clusterSlot(lock);
      words.push(lock, fenceKeyOf(slot), waitingListKey(lock, slot), sharersKey(lock, slot));
    }
  };

  return (operations: readonly Operation[], script: Script): CallTemplate => {
    const isCommon = script === commonScript;
    const records: OperationRecord[] = [];
    const words: string[] = [];
    for (const { record } of operations) {
      records.push(record);
      if (isCommon) words.push(record.key, record.commonKey as string);
      else addLockScriptKeys(words, record.resources);
    }
    const keyCount = words.length;
    const callId = newCallId();
    words.push(String(callId), live.repeat(records.length));
    if (!isCommon) words.push(String(restartGuardMs));
    for (const { name, resources, fields, rest } of records) {
      words.push(name);
      if (!isCommon) words.push(String(resources.length));
      for (const field of fields) words.push(field);
      if (!isCommon) for (const field of rest) words.push(field);
    }
    return { records, script, callId, keyCount, words, text: "", textOf: "" };
  };
}

function createEncoder(prefix: string, restartGuardMs: number, isCluster: boolean): Encoder {
  const template = noTemplate;
  const fenceKeys: (string | undefined)[] = new Array(slotCount).fill(undefined);
  const fenceKeyOf = (slot: number): string => (fenceKeys[slot] ??= fenceKey(prefix, slot));

  /**
   * Returns the first lock key. Throws if the resources cannot be locked together, or if the ttl is longer than the
   * guard: the server could forget the claim in a restart, and grant its resources again.
   */
  const firstKeyOf = (resources: readonly string[], ttlMs: number = 0): string => {
    const first = lockKey(prefix, resources[0] as string);
    for (let index = 1; index < resources.length; index++) lockKey(prefix, resources[index] as string);
    const error = isCluster && resources.length > 1 ? slotsError(prefix, resources) : undefined;
    if (error !== undefined) throw error;
    if (restartGuardMs === 0 || ttlMs <= restartGuardMs) return first;
    const rule = `ttlMs must not be longer than the restartGuardMs of the node, ${restartGuardMs}`;
    throw new ConfigurationError(`${rule}, not ${ttlMs}`, resources);
  };

  const templateFor = createTemplates(prefix, restartGuardMs, fenceKeyOf);

  return {
    acquire: rememberingLast((request) => {
      assertAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover = "", shared = false, epoch = 1, waiter = "" } = request;
      const key = firstKeyOf(resources, ttlMs);
      const isCommon = resources.length === 1 && !shared && takeover === "" && waiter === "" && restartGuardMs === 0;
      const commonKey = isCommon ? fenceKeyOf(clusterSlot(key)) : undefined;
      const fields = [owner, String(fenceHint), String(ttlMs), String(epoch)];
      const rest = isCommon ? unshared : [takeover, waiter, flag(shared)];
      return { name: "acquire", resources, key, commonKey, fields, rest, read: readAcquire, template };
    }),
    extend: rememberingLast((request) => {
      assertExtend(request);
      const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
      const key = firstKeyOf(resources, ttlMs);
      const fields = [owner, String(fence), String(ttlMs), flag(shared), flag(rejoin)];
      return { name: "extend", resources, key, commonKey: undefined, fields, rest: none, read: readExtend, template };
    }),
    release: rememberingLast((request) => {
      assertRelease(request);
      const { resources, owner, undo = false, waiter = "" } = request;
      const key = firstKeyOf(resources);
      const isCommon = resources.length === 1 && !undo && waiter === "";
      const commonKey = isCommon ? waitingListKey(key, clusterSlot(key)) : undefined;
      const rest = [flag(!undo), waiter];
      return { name: "release", resources, key, commonKey, fields: [owner], rest, read: readRelease, template };
    }),
    inspect(resource, sharersMax = 2 ** 31) {
      const key = firstKeyOf([resource]);
      const fields = [String(sharersMax)];
      const record = { name: "inspect", resources: [resource], key, commonKey: undefined, fields } as const;
      return { ...record, rest: none, read: readNodeView, template };
    },
    identify({ resources }) {
      const key = firstKeyOf(resources);
      const record = { name: "identify", resources, key, commonKey: key, fields: none } as const;
      return { ...record, rest: none, read: readIdentity, template };
    },
    call(operations) {
      let script = commonScript;
      for (const { isCommon } of operations) if (!isCommon) script = lockScript;
      const first = (operations[0] as Operation).record;
      if (!isOf(first.template, operations, script)) first.template = templateFor(operations, script);
      return new EncodedCall(operations, first.template);
    },
  };
}

const none: readonly string[] = [];
const unshared: readonly string[] = ["", "", "0"];

function flag(isSet: boolean): "0" | "1" {
  return isSet ? "1" : "0";
}

type Encode<Request, Answer> = (request: Request) => OperationRecord<Answer>;

/** Caches the record of the last request, unless that request may change. */
function rememberingLast<Request extends NodeRequest, Answer>(encode: Encode<Request, Answer>): typeof encode {
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

const noOperations: readonly Operation[] = [];
const noTemplate = { records: [], script: commonScript, callId: 0, keyCount: 0, words: [], text: "", textOf: "" };

/** Returns whether the template is that of a call of these operations. */
function isOf(template: CallTemplate, operations: readonly Operation[], script: Script): boolean {
  const { records } = template;
  if (template.script !== script || records.length !== operations.length) return false;
  for (let index = 0; index < records.length; index++) {
    if (records[index] !== (operations[index] as Operation).record) return false;
  }
  return true;
}

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
    if (this.#marks !== undefined) {
      return encodeCommand([command, script, String(keyCount), ...this.keysAndArguments()]);
    }
    if (template.textOf !== script) {
      template.text = encodeCommand([command, script, String(keyCount), ...template.words]);
      template.textOf = script;
    }
    return template.text;
  }

  /** Throws unless this is the reply to this call, and has an answer for each operation after the call id. */
  assertReply(reply: unknown): asserts reply is readonly unknown[] {
    const { callId, records } = this.template;
    const isList = Array.isArray(reply);
    if (isList) assertCallId(reply[0], callId);
    if (isList && reply.length === records.length + 1) return;
    throw nonsense(records.map(({ name }) => name).join(", "), isList ? reply.slice(1) : reply);
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

/** Returns a command in the Redis protocol. Words that are bytes must be ASCII. */
export function encodeCommand(words: readonly (string | Buffer)[]): string {
  const parts: (string | Buffer)[] = [`*${words.length}`];
  // The length line of each word begins with the line break that ends the word before.
  for (const word of words) {
    const length = Buffer.byteLength(word);
    parts.push(lengthLines[length] ?? lengthLine(length), word);
  }
  parts.push("\r\n");
  return parts.join("");
}

const lengthLine = (length: number): string => `\r\n$${length}\r\n`;

/** The length lines of short words. */
const lengthLines: readonly string[] = Array.from({ length: 256 }, (_, length) => lengthLine(length));
