/** A fault of a simulated world: what goes wrong, where, and when. Moments are true time in milliseconds. */
export type Fault =
  | LostMessage
  | LateMessage
  | RepeatedMessage
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

/** One message between a client and a node. */
export interface MessageFault {
  /** The client's name. */
  readonly client: string;
  /** The node's name. */
  readonly node: string;
  /** Which of the client's requests to that node it is about; the first is 1. */
  readonly message: number;
}

/** A request that never arrives, or whose reply does not. */
export interface LostMessage extends MessageFault {
  readonly kind: "lost message";
  readonly part: "request" | "reply";
}

/** A request or a reply that takes longer. On a connection that keeps the order, those after it wait for it. */
export interface LateMessage extends MessageFault {
  readonly kind: "late message";
  readonly part: "request" | "reply";
  /** How much longer it takes, in milliseconds. */
  readonly byMs: number;
}

/** A request that arrives a second time. */
export interface RepeatedMessage extends MessageFault {
  readonly kind: "repeated message";
  /** How long after it was sent it is sent again, in milliseconds. */
  readonly afterMs: number;
}

/** Nothing passes between these clients and these nodes for a while, in one direction or both. */
export interface Partition {
  readonly kind: "partition";
  readonly clients: readonly string[];
  readonly nodes: readonly string[];
  /** What is lost. */
  readonly part: "requests" | "replies" | "both";
  readonly atMs: number;
  readonly forMs: number;
}

/** A node that stops, and what was on the way to it is lost. */
export interface NodeCrash {
  readonly kind: "node crash";
  readonly node: string;
  readonly atMs: number;
  /** How long it is away, in milliseconds; `Infinity` is for good. */
  readonly forMs: number;
  /** Whether it comes back with its claims and counters. */
  readonly memory: "kept" | "lost";
  /** Whether clients hear nothing while it is away, instead of an error. */
  readonly isSilent: boolean;
}

/** A client that ends without a word. */
export interface ClientCrash {
  readonly kind: "client crash";
  readonly client: string;
  readonly atMs: number;
}

/** The wall clock of a client, or the clock of a node, is set forward, or back. */
export interface ClockJump {
  readonly kind: "clock jump";
  /** The name of the client or node. */
  readonly of: string;
  readonly atMs: number;
  /** How far, in milliseconds; negative is back. */
  readonly byMs: number;
}

/** The clocks of a client or node run at another rate than true time, from the beginning on. */
export interface ClockDrift {
  readonly kind: "clock drift";
  /** The name of the client or node. */
  readonly of: string;
  /** How many milliseconds pass on the clock in a true one. */
  readonly rate: number;
}

/** A client in which nothing runs for a while, at an `await` or in the middle of a turn, wherever it is in its code. */
export interface Pause {
  readonly kind: "pause";
  readonly client: string;
  readonly atMs: number;
  readonly forMs: number;
  /**
   * Where it strikes: 0 between two turns of the event loop; from 1 on, so many reads of a clock or messages after
   * `atMs`, just before the last of them.
   */
  readonly step: number;
}

/** A pause between the moment at which the client looks at its lock and that at which its next access is sent. */
export interface PauseBeforeActing {
  readonly kind: "pause before acting";
  readonly client: string;
  /** It strikes at the first such moment from here on. */
  readonly atMs: number;
  readonly forMs: number;
}

/** The client's machine sleeps: nothing runs, and the monotonic clock stands still. */
export interface Suspension {
  readonly kind: "suspension";
  readonly client: string;
  readonly atMs: number;
  readonly forMs: number;
}
