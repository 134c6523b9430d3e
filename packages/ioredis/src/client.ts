/* The part of the ioredis API that the adapter uses: small, so that several versions and forks fit. */

/** A `Redis` or `Cluster` of ioredis, or a client with the same interface, such as iovalkey's. */
export interface IoredisClient {
  /** Where the connection stands: `"ready"` when commands are sent at once. */
  readonly status: string;
  /** Whether it is a `Cluster`. */
  readonly isCluster: boolean;
  /** What the client was made with. */
  readonly options: IoredisOptions;
  /** Listens to an event. */
  on?(event: string | symbol, listener: (error?: unknown) => void): unknown;
  /** Runs a script that the server knows. */
  evalsha(sha: string, keyCount: number, ...keysAndArguments: (string | Buffer)[]): Promise<unknown>;
  /** Runs a script. */
  eval(source: string, keyCount: number, ...keysAndArguments: (string | Buffer)[]): Promise<unknown>;
  /** Sends a command. */
  sendCommand(command: IoredisCommand): unknown;
  /** Makes a client of the same server. A `Redis` takes options; a `Cluster`, startup nodes and options. */
  duplicate(optionsOrNodes?: object, clusterOptions?: object): IoredisSubscriber;
  /** Only of a `Cluster`: the clients of its servers, as far as they are known. */
  nodes?(): IoredisServer[];
}

/** A command of a client's own library. */
export interface IoredisCommand {
  /** Settles with the reply. */
  readonly promise: Promise<unknown>;
  /** What is written to the socket, made anew each time that it is written. */
  toWritable(socket: object): string | Buffer;
}

/** One server of a cluster. */
export interface IoredisServer {
  /** Where it is. */
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
  /** The sentinels that know where the server is. */
  readonly sentinels?: readonly unknown[] | null | undefined;
  /** What the sentinels call the server. */
  readonly name?: string | null | undefined;
  /** What the client puts before all keys: the adapter refuses clients that do. */
  readonly keyPrefix?: string | undefined;
}

/** The client that `duplicate()` makes. */
export interface IoredisSubscriber {
  /** Where the connection stands. */
  readonly status: string;
  /** Listens to messages, to errors, and to the end of the connection. */
  on(event: "message" | "error" | "end", listener: (channel: string, message: string) => void): unknown;
  /** Listens to the connection being ready, the next time. */
  once(event: "ready", listener: () => void): unknown;
  /** Begins a subscription. */
  subscribe(channel: string): Promise<unknown>;
  /** Ends a subscription. */
  unsubscribe(channel: string): Promise<unknown>;
  /** Closes the connection. */
  disconnect(): void;
}
