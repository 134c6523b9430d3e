/** A fault of a simulated world: what goes wrong, where, and when. Moments are true time in milliseconds. */
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

/** What every fault tells. */
export interface FaultOf<Kind extends string> {
  /** Which fault it is. */
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
  /** Which of the client's requests to that node it is about; the first is 1. */
  readonly message: number;
}

/** A request that never arrives, or whose reply does not. */
export interface LostMessage extends FaultOf<"lost message">, OfMessage {
  /** What is lost. */
  readonly part: "request" | "reply";
}

/** A request or a reply that takes longer. On a connection that keeps the order, those after it wait for it. */
export interface LateMessage extends FaultOf<"late message">, OfMessage {
  /** What is late. */
  readonly part: "request" | "reply";
  /** How much longer it takes, in milliseconds. */
  readonly byMs: number;
}

/** A request that arrives a second time. */
export interface RepeatedMessage extends FaultOf<"repeated message">, OfMessage {
  /** How long after it was sent it is sent again, in milliseconds. */
  readonly afterMs: number;
}

/** A fault of one notification: of a node's message to a client that watches it, by which a resource was released. */
export interface OfNotification extends OfClient {
  /** The node's name. */
  readonly node: string;
  /** Which of the node's notifications to that client it is about; the first is 1. */
  readonly notification: number;
}

/** A notification that never arrives. */
export interface LostNotification extends FaultOf<"lost notification">, OfNotification {}

/** A notification that takes longer. On a connection that keeps the order, those after it wait for it. */
export interface LateNotification extends FaultOf<"late notification">, OfNotification {
  /** How much longer it takes, in milliseconds. */
  readonly byMs: number;
}

/** A notification that arrives a second time. */
export interface RepeatedNotification extends FaultOf<"repeated notification">, OfNotification {
  /** How long after it was sent it is sent again, in milliseconds. */
  readonly afterMs: number;
}

/** A watch that cannot be set up. */
export interface FailedWatch extends FaultOf<"failed watch">, OfClient {
  /** The node's name. */
  readonly node: string;
  /** Which of the client's watches on that node it is about; the first is 1. */
  readonly watch: number;
  /** Whether the client never hears of it, instead of an error. */
  readonly isSilent: boolean;
}

/** A node forgets the watches that a client has there, as when a connection breaks, and the client does not hear of it. */
export interface BrokenWatch extends FaultOf<"broken watch">, OfClient, Moment {
  /** The node's name. */
  readonly node: string;
}

/** A message to the storage that takes longer, so that what the client looked at before it acted may be long past. */
export interface LateAccess extends FaultOf<"late access">, OfClient {
  /** Which of the client's accesses, reads as well as writes, it is about; the first is 1. */
  readonly access: number;
  /** How much longer it takes, in milliseconds. */
  readonly byMs: number;
}

/** Nothing passes between these clients and these nodes for a while, in one direction or both. */
export interface Partition extends FaultOf<"partition">, Span {
  /** The names of the clients. */
  readonly clients: readonly string[];
  /** The names of the nodes. */
  readonly nodes: readonly string[];
  /** What is lost. */
  readonly part: "requests" | "replies" | "both";
}

/** A node that stops: what is on the way to it is lost. It comes back unless `forMs` is `Infinity`. */
export interface NodeCrash extends FaultOf<"node crash">, Span {
  /** The node's name. */
  readonly node: string;
  /** Whether it comes back with its claims and counters. */
  readonly memory: "kept" | "lost";
  /** Whether clients hear nothing while it is away, instead of an error. */
  readonly isSilent: boolean;
  /**
   * How long it then does not vote, in milliseconds, as with a restart guard. Only where it has lost its memory. Default 0.
   */
  readonly guardMs?: number;
}

/** A client that ends without a word. */
export interface ClientCrash extends FaultOf<"client crash">, OfClient, Moment {}

/** The wall clock of a client, or the clock of a node, is set forward, or back. */
export interface ClockJump extends FaultOf<"clock jump">, Moment {
  /** The name of the client or node. */
  readonly of: string;
  /** How far, in milliseconds; negative is back. */
  readonly byMs: number;
}

/** The clocks of a client or node run at another rate than true time, from the beginning on. */
export interface ClockDrift extends FaultOf<"clock drift"> {
  /** The name of the client or node. */
  readonly of: string;
  /** How many milliseconds pass on the clock in a true one. */
  readonly rate: number;
}

/** A client in which nothing runs for a while, at an `await` or in the middle of a turn, wherever it is in its code. */
export interface Pause extends FaultOf<"pause">, OfClient, Span {
  /**
   * Where it strikes: 0 between two turns of the event loop; from 1 on, so many reads of a clock or messages after
   * `atMs`, just before the last of them.
   */
  readonly step: number;
}

/** A pause between the moment, the first from `atMs` on, at which the client looks at its lock and its next access. */
export interface PauseBeforeActing extends FaultOf<"pause before acting">, OfClient, Span {}

/** The client's machine sleeps: nothing runs, and the monotonic clock stands still. */
export interface Suspension extends FaultOf<"suspension">, OfClient, Span {}
