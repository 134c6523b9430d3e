/* The part of the ioredis API that the adapter uses: small, so that several versions and forks fit. */

/** A `Redis` or `Cluster` of ioredis, or a client with the same interface, such as one of iovalkey. */
export interface IoredisClient {
  /** The state of the connection: `"ready"` when commands are sent at once. */
  readonly status: string;
  /** Whether it is a `Cluster`. */
  readonly isCluster: boolean;
  /** The options that the client was created with. */
  readonly options: IoredisOptions;
  /** Listens to an event. */
  on?(event: string | symbol, listener: (error?: unknown) => void): unknown;
  /** Runs a script that the server has cached. */
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | Buffer)[]): Promise<unknown>;
  /** Runs a script by its source. */
  eval(source: string, keyCount: number, ...keysAndArguments: (string | Buffer)[]): Promise<unknown>;
  /** Sends a command. */
  sendCommand(command: IoredisCommand): unknown;
  /** Creates a client for the same server. A `Redis` takes options; a `Cluster` takes startup nodes and options. */
  duplicate(optionsOrNodes?: object, clusterOptions?: object): IoredisSubscriber;
  /** Only for a `Cluster`: the clients of its known servers. */
  nodes?(): IoredisServer[];
}

/** A command object of the client's library. */
export interface IoredisCommand {
  /** Settles with the reply. */
  readonly promise: Promise<unknown>;
  /** Encodes the command each time that it is written to the socket. */
  toWritable(socket: object): string | Buffer;
}

/** One server of a cluster. */
export interface IoredisServer {
  /** The options of the server's client. */
  readonly options: IoredisOptions;
}

/** The options of a client that the adapter reads. */
export interface IoredisOptions {
  /** The host of the server. */
  readonly host?: string | undefined;
  /** The port of the server. */
  readonly port?: number | undefined;
  /** The path of the server's Unix domain socket. */
  readonly path?: string | undefined;
  /** The number of the logical database. */
  readonly db?: number | undefined;
  /** The addresses of the sentinels. */
  readonly sentinels?: readonly unknown[] | null | undefined;
  /** The name of the server among the sentinels. */
  readonly name?: string | null | undefined;
  /** The prefix that the client puts before all keys: the adapter refuses clients that have one. */
  readonly keyPrefix?: string | undefined;
}

/** The client that `duplicate()` makes. */
export interface IoredisSubscriber {
  /** The state of the connection. */
  readonly status: string;
  /** Listens to messages, to errors, and to the end of the connection. */
  on(event: "message" | "error" | "end", listener: (channel: string, message: string) => void): unknown;
  /** Listens once to the connection becoming ready. */
  once(event: "ready", listener: () => void): unknown;
  /** Subscribes to a channel. */
  subscribe(channel: string): Promise<unknown>;
  /** Ends a subscription. */
  unsubscribe(channel: string): Promise<unknown>;
  /** Closes the connection. */
  disconnect(): void;
}
