/** What the adapter needs of the clients of node-redis: no more, so that its versions will do. */

/** A client made by `createClient`. */
export interface NodeRedisClient {
  /** Whether commands are sent at once. */
  readonly isReady: boolean;
  /** Whether it is connected, or tries to be. */
  readonly isOpen?: boolean;
  /** What the client was made with. */
  readonly options?: NodeRedisOptions;
  /** Listens to an event. */
  on?(event: string | symbol, listener: (error?: unknown) => void): unknown;
  /** Sends a command. */
  sendCommand(args: readonly (string | Buffer)[], options: NodeRedisCommandOptions): Promise<unknown>;
  /** Makes a client of the same server. */
  duplicate(): NodeRedisSubscriber;
}

/** A client made by `createCluster`. */
export interface NodeRedisCluster {
  /** Whether it is connected. */
  readonly isOpen: boolean;
  /** Listens to an event. */
  on?(event: string | symbol, listener: (error?: unknown) => void): unknown;
  /** The masters, as far as they are known. */
  readonly masters: readonly NodeRedisServer[];
  /** The shard of each slot, as far as they are known. */
  readonly slots: readonly NodeRedisShard[];
  /** Sends a command to the shard of a key. */
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    args: (string | Buffer)[],
    options: NodeRedisCommandOptions,
  ): Promise<unknown>;
  /** Makes a client of the same cluster. */
  duplicate(overrides: { readonly minimizeConnections: boolean }): NodeRedisSubscriber;
}

/** The options of a client that the adapter reads. */
export interface NodeRedisOptions {
  /** Where the server is. */
  readonly socket?: NodeRedisServer | undefined;
  /** The number of the logical database. */
  readonly database?: number | undefined;
  /** What the client puts before keys: the adapter refuses clients that do. */
  readonly keyPrefix?: unknown;
}

/** Where a server is, and its client in a cluster. */
export interface NodeRedisServer {
  /** The host of the server. */
  readonly host?: string | undefined;
  /** The port of the server. */
  readonly port?: number | undefined;
  /** The path of the server's Unix domain socket. */
  readonly path?: string | undefined;
  /** Its client, if it is part of a cluster and was needed already. */
  readonly client?: Pick<NodeRedisClient, "isReady"> | undefined;
}

/** A part of a cluster. */
export interface NodeRedisShard {
  /** The server that takes writes. */
  readonly master: NodeRedisServer;
}

/** What is asked for with each command. */
export interface NodeRedisCommandOptions {
  /** How long the command may wait to be written, in milliseconds; 0: as long as it takes. */
  readonly timeout: number;
  /** What strings are read as. Default: as the client is set up. */
  readonly typeMapping?: NodeRedisTypeMapping;
}

/** What the types of the protocol, by their characters, are read as. */
export interface NodeRedisTypeMapping {
  /** Bulk strings (`$`). */
  readonly 36: BufferConstructor;
}

/** The client that `duplicate()` makes. */
export interface NodeRedisSubscriber {
  /** Whether it is connected, or tries to be. */
  readonly isOpen: boolean;
  /** Listens to errors. */
  on(event: "error", listener: () => void): unknown;
  /** Begins to connect. */
  connect(): Promise<unknown>;
  /** Begins a subscription. */
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  /** Ends a subscription. */
  unsubscribe(channel: string): Promise<void>;
  /** Closes the connection. */
  destroy(): void;
}
