import type { AcquireRequest, ExtendRequest, NodeRequest, ReleaseRequest } from "@holdfast/core";
import { assertAcquire, assertExtend, assertRelease } from "@holdfast/core/requests";
import { newCallId } from "./call-id.ts";
import type { ScriptCall } from "./connection.ts";
import { fenceKey, keyNames, waitingListKey } from "./keys.ts";
import type { Operation, OperationRecord } from "./operation.ts";
import { readAcquire, readExtend, readIdentity, readNodeView, readRelease } from "./replies.ts";

/** The options that records depend on. */
export interface EncodingOptions {
  readonly prefix: string;
  readonly fenceTtlMs: number;
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
  inspect(resource: string): OperationRecord;
  identify(request: NodeRequest): OperationRecord;
}

let latestEncoder: { readonly options: EncodingOptions; readonly encoder: Encoder } | undefined;

/**
 * Returns the encoder for the options. Nodes created in a row with the same options share one: core passes the same
 * request object to all nodes of a `Redlock`, so each request is encoded once.
 */
export function encoderFor(options: EncodingOptions): Encoder {
  if (latestEncoder === undefined || !isSame(latestEncoder.options, options)) {
    latestEncoder = { options, encoder: createEncoder(options) };
  }
  return latestEncoder.encoder;
}

function isSame(a: EncodingOptions, b: EncodingOptions): boolean {
  return (
    a.prefix === b.prefix &&
    a.fenceTtlMs === b.fenceTtlMs &&
    a.restartGuardMs === b.restartGuardMs &&
    a.isCluster === b.isCluster
  );
}

function createEncoder({ prefix, fenceTtlMs, restartGuardMs, isCluster }: EncodingOptions): Encoder {
  const { lockKeys } = keyNames(prefix, isCluster);
  const keepMs = (ttlMs: number): string => (fenceTtlMs === Infinity ? "0" : String(ttlMs + fenceTtlMs));
  return {
    acquire: rememberingLast((request) => {
      assertAcquire(request);
      const { resources, owner, ttlMs, fenceHint, takeover = "", shared = false, epoch = 1, waiter = "" } = request;
      const keys = lockKeys(resources);
      const count = keys.length;
      for (let index = 0; index < count; index++) keys.push(fenceKey(keys[index] as string));
      const claim = [owner, String(fenceHint), String(ttlMs), keepMs(ttlMs), String(epoch)];
      const isCommon = count === 1 && !shared && takeover === "" && waiter === "" && restartGuardMs === 0;
      const words = isCommon
        ? ["acquire-one", ...claim]
        : [shared ? "acquire-shared" : "acquire", String(count), ...claim, takeover, waiter];
      if (waiter !== "") for (let index = 0; index < count; index++) keys.push(waitingListKey(keys[index] as string));
      return { name: "acquire", resources, keys, words, fenceHint, epoch, read: readAcquire };
    }),
    extend: rememberingLast((request) => {
      assertExtend(request);
      const { resources, owner, ttlMs, fence, rejoin, shared = false } = request;
      const keys = lockKeys(resources);
      const words = [
        shared ? "extend-shared" : "extend",
        String(keys.length),
        owner,
        String(fence),
        String(ttlMs),
        keepMs(ttlMs),
        rejoin ? "1" : "0",
      ];
      return { name: "extend", resources, keys: [...keys, ...keys.map(fenceKey)], words, read: readExtend };
    }),
    release: rememberingLast((request) => {
      assertRelease(request);
      const { resources, owner, undo = false, waiter = "" } = request;
      const keys = lockKeys(resources);
      const count = keys.length;
      const words =
        count === 1 && !undo && waiter === ""
          ? ["release-one", owner]
          : ["release", String(count), owner, undo ? "0" : "1", waiter];
      if (!undo) for (let index = 0; index < count; index++) keys.push(waitingListKey(keys[index] as string));
      return { name: "release", resources, keys, words, read: readRelease };
    }),
    inspect(resource) {
      const resources = [resource];
      const keys = lockKeys(resources);
      return {
        name: "inspect",
        resources,
        keys: [...keys, ...keys.map(fenceKey)],
        words: ["inspect"],
        read: readNodeView,
      };
    },
    identify({ resources }) {
      const [key] = lockKeys(resources) as [string];
      return { name: "identify", resources, keys: [key], words: ["identify"], read: readIdentity };
    },
  };
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

/** What a node tells the script in each call. */
export interface CallHeader {
  /** How long after its start the server does not vote, in milliseconds. */
  readonly guardMs: number;
  /** The key of the floor and the epoch; empty if the node has none. */
  readonly floorKey: string;
}

/** The records of a call, shared by all nodes that are sent the same operations in one tick. */
interface CallTemplate {
  readonly records: readonly OperationRecord[];
  readonly header: CallHeader;
  /** The key of the floor; empty if no operation of the call reads it. */
  readonly floorKey: string;
  readonly keyCount: number;
  /** A number that the reply must repeat, so that the reply to another call is recognised. */
  readonly callId: number;
  /** The whole command with no operation given up, and the command name and script that it was last encoded for. */
  text: string;
  command: string;
  script: string;
}

let latestTemplate: CallTemplate | undefined;

/**
 * Returns the template for the operations. Core sends the same requests to all nodes of a `Redlock` in a row, so their
 * calls of one tick are equal, and encoded once.
 */
function templateFor(operations: readonly Operation[], header: CallHeader): CallTemplate {
  const { length } = operations;
  let template = latestTemplate;
  if (template !== undefined && isSameHeader(template.header, header) && template.records.length === length) {
    let index = 0;
    while (index < length && template.records[index] === (operations[index] as Operation).record) index += 1;
    if (index === length) return template;
  }
  const records = new Array<OperationRecord>(length);
  let keyCount = 0;
  let floorKey = "";
  for (let index = 0; index < length; index++) {
    const { record } = operations[index] as Operation;
    records[index] = record;
    keyCount += record.keys.length;
    if (record.name === "acquire" || record.name === "inspect") floorKey = header.floorKey;
  }
  template = { records, header, floorKey, keyCount, callId: newCallId(), text: "", command: "", script: "" };
  latestTemplate = template;
  return template;
}

function isSameHeader(a: CallHeader, b: CallHeader): boolean {
  return a.guardMs === b.guardMs && a.floorKey === b.floorKey;
}

const live = ".";
const struckOut = "x";

const noOperations: readonly Operation[] = [];
const noTemplate: CallTemplate = {
  records: [],
  header: { guardMs: 0, floorKey: "" },
  floorKey: "",
  keyCount: 0,
  callId: 0,
  text: "",
  command: "",
  script: "",
};

/** A script call that runs operations of one node. */
export class EncodedCall implements ScriptCall {
  /** A number that the reply must repeat. */
  readonly callId: number;
  readonly keyCount: number;
  operations: readonly Operation[];
  #template: CallTemplate;
  /** The marks of the operations, once `keysAndArguments` has returned them. */
  #marks: Buffer | undefined;

  /** @param header see {@link CallHeader} */
  constructor(operations: readonly Operation[], header: CallHeader) {
    const template = templateFor(operations, header);
    this.operations = operations;
    this.callId = template.callId;
    this.keyCount = template.keyCount;
    this.#template = template;
    for (const operation of operations) operation.call = this;
  }

  get firstKey(): string {
    return (this.#template.records[0] as OperationRecord).keys[0] as string;
  }

  keysAndArguments(): (string | Buffer)[] {
    this.#marks ??= Buffer.from(this.#currentMarks(), "latin1");
    return this.#words(this.#marks);
  }

  encode(command: "EVALSHA" | "EVAL", script: string): string {
    const template = this.#template;
    for (const { isGivenUp } of this.operations) if (isGivenUp) return this.#encode(command, script);
    if (template.command !== command || template.script !== script) {
      template.text = this.#encode(command, script);
      template.command = command;
      template.script = script;
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
    return encodeCommand([command, script, String(this.keyCount), ...this.#words(this.#currentMarks())]);
  }

  #words<Marks>(marks: Marks): (string | Marks)[] {
    const { records, callId, header, floorKey } = this.#template;
    const words: (string | Marks)[] = [];
    for (const { keys } of records) for (const key of keys) words.push(key);
    words.push(String(callId), marks, String(header.guardMs), floorKey);
    for (const record of records) for (const word of record.words) words.push(word);
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
