import { Client, type Metadata } from "@grpc/grpc-js";
import { onTestFinished, vi } from "vitest";
import type { TxnRequest } from "../src/messages.ts";

/** A request on its way to a server. */
export interface Sent {
  /** The method, such as `Txn` or `LeaseGrant`. */
  readonly method: string;
  readonly request: TxnRequest;
  /** Delivers the request, unless the caller has given it up. */
  deliver(): void;
  /** Delivers the request at any time, any number of times. The caller gets no reply. */
  deliverWithoutReply(): Promise<void>;
}

type OnReply = (error: object | null, reply?: unknown) => void;

/** The form of `makeUnaryRequest` that the adapter uses. */
type MakeRequest = (
  this: Client,
  path: string,
  encode: (request: unknown) => Buffer,
  decode: (bytes: Buffer) => unknown,
  request: unknown,
  metadata: Metadata,
  options: object,
  onReply: OnReply,
) => { cancel(): void };

const cancelled = { code: 1, details: "Cancelled on client", message: "Cancelled on client" };

/**
 * Passes every request of the clients in this process to a function that decides when to deliver it, until the end of
 * the test. A request that is not delivered times out.
 */
export function interceptRequests(decide: (sent: Sent) => void): void {
  const original = Client.prototype.makeUnaryRequest as unknown as MakeRequest;
  const intercepted: MakeRequest = function (path, encode, decode, request, metadata, options, onReply) {
    let isOver = false;
    let call: { cancel(): void } | undefined;
    const send = (replied: OnReply) => original.call(this, path, encode, decode, request, metadata, options, replied);
    decide({
      method: path.slice(path.lastIndexOf("/") + 1),
      request: request as TxnRequest,
      deliver() {
        if (!isOver) call = send(onReply);
      },
      deliverWithoutReply: () =>
        new Promise((resolve, reject) => {
          send((error) => (error === null ? resolve() : reject(error)));
        }),
    });
    return {
      cancel() {
        if (isOver) return;
        isOver = true;
        if (call) call.cancel();
        else onReply(cancelled);
      },
    };
  };
  const spy = vi.spyOn(Client.prototype, "makeUnaryRequest");
  spy.mockImplementation(intercepted as unknown as Client["makeUnaryRequest"]);
  onTestFinished(() => spy.mockRestore());
}

/** Whether a transaction writes a claim. */
export function isClaim({ method, request }: Sent): boolean {
  return method === "Txn" && request.success.some((operation) => "requestPut" in operation);
}

/** Whether a transaction deletes claims. */
export function isDeletion({ method, request }: Sent): boolean {
  if (method !== "Txn") return false;
  return request.success.some((operation) => "requestDeleteRange" in operation || "requestTxn" in operation);
}
