/** A fault in a simulated world: what goes wrong, where, and when. Moments are true time in milliseconds. */
export type Fault =
  | LostMessage
  | LateMessage
  | RepeatedMessage
  | LostNotification
  | LateNotification
  | RepeatedNotification
  | FailedWatch
  | BrokenWatch
  | LateAccess
  | Partition
  | NodeCrash
  | ClientCrash
  | ClockJump
  | ClockDrift
  | Pause
  | PauseBeforeActing
  | Suspension;

/** The kinds of faults. */
export type FaultKind = Fault["kind"];

/** The property that all faults have. */
export interface FaultOf<Kind extends string> {
  /** The kind of fault. */
  readonly kind: Kind;
}

/** A fault that strikes at a moment. */
export interface Moment {
  /** When it strikes. */
  readonly atMs: number;
}

/** A fault that lasts. */
export interface Span extends Moment {
  /** How long it lasts, in milliseconds. */
  readonly forMs: number;
}

/** A fault of one client. */
export interface OfClient {
  /** The client's name. */
  readonly client: string;
}

/** A fault of one message between a client and a node. */
export interface OfMessage extends OfClient {
  /** The node's name. */
  readonly node: string;
  /** The number of the request among those of the client to that node; the first is 1. */
  readonly message: number;
}

/** A request or a reply that never arrives. */
export interface LostMessage extends FaultOf<"lost message">, OfMessage {
  /** The part that is lost. */
  readonly part: "request" | "reply";
}

/** A request or a reply that is delayed. On a connection that keeps the order, later messages wait for it. */
export interface LateMessage extends FaultOf<"late message">, OfMessage {
  /** The part that is late. */
  readonly part: "request" | "reply";
  /** How much later it arrives, in milliseconds. */
  readonly byMs: number;
}

/** A request that arrives twice. */
export interface RepeatedMessage extends FaultOf<"repeated message">, OfMessage {
  /** The time from the first sending to the second, in milliseconds. */
  readonly afterMs: number;
}

/** A fault of one notification: a node's message to a client that watches it, saying that a resource was released. */
export interface OfNotification extends OfClient {
  /** The node's name. */
  readonly node: string;
  /** The number of the notification among those of the node to that client; the first is 1. */
  readonly notification: number;
}

/** A notification that never arrives. */
export interface LostNotification extends FaultOf<"lost notification">, OfNotification {}

/** A notification that is delayed. On a connection that keeps the order, later messages wait for it. */
export interface LateNotification extends FaultOf<"late notification">, OfNotification {
  /** How much later it arrives, in milliseconds. */
  readonly byMs: number;
}

/** A notification that arrives twice. */
export interface RepeatedNotification extends FaultOf<"repeated notification">, OfNotification {
  /** The time from the first sending to the second, in milliseconds. */
  readonly afterMs: number;
}

/** A watch that fails to start. */
export interface FailedWatch extends FaultOf<"failed watch">, OfClient {
  /** The node's name. */
  readonly node: string;
  /** The number of the watch among those of the client on that node; the first is 1. */
  readonly watch: number;
  /** Whether the client gets no reply at all instead of an error. */
  readonly isSilent: boolean;
}

/** A node drops the watches of a client, as when a connection breaks, and the client does not find out. */
export interface BrokenWatch extends FaultOf<"broken watch">, OfClient, Moment {
  /** The node's name. */
  readonly node: string;
}

/** A message to the storage that is delayed, so that the client's look at its lock may be long out of date. */
export interface LateAccess extends FaultOf<"late access">, OfClient {
  /** The number of the access among the client's reads and writes; the first is 1. */
  readonly access: number;
  /** How much later it arrives, in milliseconds. */
  readonly byMs: number;
}

/** Messages between these clients and these nodes are lost for a while, in one direction or both. */
export interface Partition extends FaultOf<"partition">, Span {
  /** The names of the clients. */
  readonly clients: readonly string[];
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** The direction in which messages are lost. */
  readonly part: "requests" | "replies" | "both";
}

/** A node that stops: messages in flight to it are lost. It restarts unless `forMs` is `Infinity`. */
export interface NodeCrash extends FaultOf<"node crash">, Span {
  /** The node's name. */
  readonly node: string;
  /** Whether it restarts with its claims and counters. */
  readonly memory: "kept" | "lost";
  /** Whether clients get no reply while it is down, instead of an error. */
  readonly isSilent: boolean;
  /**
   * How long it does not vote after the restart, in milliseconds, as with a restart guard. Only if it has lost its
   * memory. Default 0.
   */
  readonly guardMs?: number;
  /**
   * Whether the operator heals it: before it votes again, or later, while it votes. Only if it has lost its memory. It
   * keeps its memory after all if too few nodes of one of its sets would be left to heal it. Default: nobody heals it.
   */
  readonly healed?: "before it votes" | "while it votes";
  /** When the operator begins to heal it, in milliseconds after the crash. Default: when its guard is over. */
  readonly healAfterMs?: number;
}

/** A client that stops without releasing anything. */
export interface ClientCrash extends FaultOf<"client crash">, OfClient, Moment {}

/** The wall clock of a client, or the clock of a node, is set forward, or back. */
export interface ClockJump extends FaultOf<"clock jump">, Moment {
  /** The name of the client or node. */
  readonly of: string;
  /** How far, in milliseconds; negative sets it back. */
  readonly byMs: number;
}

/** The clocks of a client or node run faster or slower than true time, from the start of the run. */
export interface ClockDrift extends FaultOf<"clock drift"> {
  /** The name of the client or node. */
  readonly of: string;
  /** How many milliseconds the clock advances in one millisecond of true time. */
  readonly rate: number;
}

/** A client in which nothing runs for a while: at an `await`, or anywhere within a turn of the event loop. */
export interface Pause extends FaultOf<"pause">, OfClient, Span {
  /**
   * Where it strikes: 0 for between two turns of the event loop; n for just before the nth clock read or message after
   * `atMs`.
   */
  readonly step: number;
}

/** A pause between the client's first look at its lock after `atMs` and the access that follows. */
export interface PauseBeforeActing extends FaultOf<"pause before acting">, OfClient, Span {}

/** The client's machine sleeps: nothing runs, and the monotonic clock stands still. */
export interface Suspension extends FaultOf<"suspension">, OfClient, Span {}
