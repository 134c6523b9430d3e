import type {
  AcquireReply,
  AcquireRequest,
  ExtendReply,
  ExtendRequest,
  Floor,
  FloorRequest,
  LockNode,
  NodeRequest,
  NodeView,
  ReleaseReply,
  ReleaseRequest,
  ScanPortion,
  ScanRequest,
  Unwatch,
} from "@holdfast/core/node";
import type { VirtualClock } from "./virtual-clock.ts";

/** A fault in one call. Without one, the node answers immediately. */
export interface Fault {
  /** Latency of the request, in milliseconds. */
  readonly requestMs?: number;
  /** Latency of the reply, in milliseconds. */
  readonly replyMs?: number;
  /** The message that never arrives. */
  readonly lose?: "request" | "reply";
  /** Rejects with this value instead of calling the node. */
  readonly reject?: unknown;
  /** Throws this value synchronously, as an adapter without async functions might. */
  readonly throw?: unknown;
  /** Resolves with this value instead of calling the node. */
  readonly answer?: unknown;
}

/** One recorded call. */
export interface Call {
  readonly method: "acquire" | "extend" | "release" | "inspect" | "watch" | "raiseFloor" | "scan";
  readonly request: Partial<AcquireRequest & ExtendRequest> & NodeRequest;
  readonly atMs: number;
}

/** A node behind a network that the test controls, on a virtual clock. */
export class FaultyNode implements LockNode {
  readonly name: string;
  /** All calls on the client's side of the network, in order. */
  readonly calls: Call[] = [];
  /** Chooses the fault of each call; undefined means none. */
  fault: (call: Call) => Fault | undefined = () => undefined;
  /** Delivers each announcement of a release to the client, by default immediately. */
  announcement: (deliver: () => void, resource: string, next: string | undefined) => void = (deliver) => deliver();
  /** Present if the node has it. Tests may delete it. */
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

  /** Returns the calls of one method. */
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

  raiseFloor(request: FloorRequest): Promise<Floor> {
    return this.#send("raiseFloor", forNode(request), async () => present(this.#node.raiseFloor?.(request)));
  }

  scan(request: ScanRequest): Promise<ScanPortion> {
    return this.#send("scan", forNode(request), async () => present(this.#node.scan?.(request)));
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

/** Returns the request as calls record it: it is about the node, and names no resource or owner. */
function forNode<Request extends object>(request: Request): Request & Pick<NodeRequest, "resources" | "owner"> {
  return { resources: [], owner: "", ...request };
}

function present<T>(reply: Promise<T> | undefined): Promise<T> {
  return reply ?? Promise.reject(new Error("the node does not have this method"));
}
