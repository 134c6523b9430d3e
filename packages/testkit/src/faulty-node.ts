import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  LockNode,
  NodeRequest,
  NodeView,
  ReleaseReply,
  ReleaseRequest,
  Unwatch,
} from "@holdfast/core";
import type { VirtualClock } from "./virtual-clock.ts";

/** What happens to one call on its way to the node and back. By default it is answered at once. */
export interface Fault {
  /** How long the request is under way. */
  readonly requestMs?: number;
  /** How long the reply is under way. */
  readonly replyMs?: number;
  /** Which message never arrives. */
  readonly lose?: "request" | "reply";
  /** Rejects with this, instead of asking the node. */
  readonly reject?: unknown;
  /** Throws this at the call, as an adapter that is not an async function might. */
  readonly throw?: unknown;
  /** Resolves with this, instead of asking the node. */
  readonly answer?: unknown;
}

/** One call that was made, in the order of the calls. */
export interface Call {
  readonly method: "acquire" | "extend" | "release" | "inspect" | "watch";
  readonly request: Partial<AcquireRequest & ExtendRequest> & NodeRequest;
  readonly atMs: number;
}

/** A node behind a network that a test controls, on a virtual clock. */
export class FaultyNode implements LockNode {
  readonly name: string;
  /** Every call that reached this side of the network. */
  readonly calls: Call[] = [];
  /** Decides what happens to each call; undefined means that nothing goes wrong. */
  fault: (call: Call) => Fault | undefined = () => undefined;
  /** Decides what happens to each announcement of a release on its way to this side: by default, it arrives at once. */
  announcement: (deliver: () => void, resource: string, next: string | undefined) => void = (deliver) => deliver();
  /** As of the node; may be deleted. */
  watch?: (resources: readonly string[], onReleased: (resource: string, next?: string) => void) => Promise<Unwatch>;
  readonly #node: LockNode;
  readonly #clock: VirtualClock;

  constructor(node: LockNode, clock: VirtualClock) {
    this.name = node.name;
    this.#node = node;
    this.#clock = clock;
    const { watch } = node;
    if (watch === undefined) return;
    this.watch = (resources, onReleased) => {
      const hear = (resource: string, next?: string): void =>
        this.announcement(() => onReleased(resource, next), resource, next);
      return this.#send("watch", { resources, owner: "", timeoutMs: 0 }, () => watch.call(node, resources, hear));
    };
  }

  /** The calls of one method. */
  callsOf(method: Call["method"]): Call[] {
    return this.calls.filter((call) => call.method === method);
  }

  acquire(request: AcquireRequest): Promise<AcquireReply> {
    return this.#send("acquire", request, () => this.#node.acquire(request));
  }

  extend(request: ExtendRequest): Promise<ExtendReply> {
    return this.#send("extend", request, () => this.#node.extend(request));
  }

  release(request: ReleaseRequest): Promise<ReleaseReply> {
    return this.#send("release", request, () => this.#node.release(request));
  }

  inspect(resource: string): Promise<NodeView> {
    const request = { resources: [resource], owner: "", timeoutMs: 0 };
    return this.#send("inspect", request, () => this.#node.inspect?.(resource) ?? Promise.reject(new Error("no")));
  }

  #send<Reply>(method: Call["method"], request: NodeRequest, act: () => Promise<Reply>): Promise<Reply> {
    const call = { method, request, atMs: this.#clock.monotonicMs() };
    this.calls.push(call);
    const fault = this.fault(call) ?? {};
    if ("throw" in fault) throw fault.throw;
    return this.#travel(fault, act);
  }

  async #travel<Reply>(fault: Fault, act: () => Promise<Reply>): Promise<Reply> {
    if (fault.lose === "request") return new Promise(() => {});
    await this.#arrival(fault.requestMs);
    if ("reject" in fault) {
      await this.#arrival(fault.replyMs);
      throw fault.reject;
    }
    const reply = "answer" in fault ? (fault.answer as Reply) : await act();
    if (fault.lose === "reply") return new Promise(() => {});
    await this.#arrival(fault.replyMs);
    return reply;
  }

  #arrival(delayMs: number | undefined): Promise<void> | undefined {
    return delayMs === undefined ? undefined : new Promise((resolve) => this.#clock.deliver(delayMs, resolve));
  }
}
