/* The part of the node-redis API that the adapter uses: small, so that several versions fit. */

/** A client created by `createClient`. */
export interface NodeRedisClient {
  /** Whether commands are sent at once. */
  readonly isReady: boolean;
  /** Whether it is connected or reconnecting. */
  readonly isOpen?: boolean;
  /** The options that the client was created with. */
  readonly options?: NodeRedisOptions;
  /** Listens to an event. */
  on?(event: string | symbol, listener: (error?: unknown) => void): unknown;
  /** Sends a command. */
  sendCommand(args: readonly (string | Buffer)[], options: NodeRedisCommandOptions): Promise<unknown>;
  /** Creates a client for the same server. */
  duplicate(): NodeRedisSubscriber;
}

/** A client created by `createCluster`. */
export interface NodeRedisCluster {
  /** Whether it is connected. */
  readonly isOpen: boolean;
  /** Listens to an event. */
  on?(event: string | symbol, listener: (error?: unknown) => void): unknown;
  /** The known masters. */
  readonly masters: readonly NodeRedisServer[];
  /** The shards by slot, once they are known. */
  readonly slots: readonly NodeRedisShard[];
  /** Sends a command to the shard of a key. */
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    args: (string | Buffer)[],
    options: NodeRedisCommandOptions,
  ): Promise<unknown>;
  /** Creates a client for the same cluster. */
  duplicate(overrides: { readonly minimizeConnections: boolean }): NodeRedisSubscriber;
}

/** The options of a client that the adapter reads. */
export interface NodeRedisOptions {
  /** The address of the server. */
  readonly socket?: NodeRedisServer | undefined;
  /** The number of the logical database. */
  readonly database?: number | undefined;
  /** The prefix that the client puts before keys: the adapter refuses clients that have one. */
  readonly keyPrefix?: unknown;
}

/** The address of a server and, in a cluster, its client. */
export interface NodeRedisServer {
  /** The host of the server. */
  readonly host?: string | undefined;
  /** The port of the server. */
  readonly port?: number | undefined;
  /** The path of the server's Unix domain socket. */
  readonly path?: string | undefined;
  /** The client of a cluster member, once it has been used. */
  readonly client?: Pick<NodeRedisClient, "isReady"> | undefined;
}

/** A shard of a cluster. */
export interface NodeRedisShard {
  /** The server that accepts writes. */
  readonly master: NodeRedisServer;
}

/** The options of one command. */
export interface NodeRedisCommandOptions {
  /** How long the command may wait to be written, in milliseconds; 0 means no limit. */
  readonly timeout: number;
  /** The types that replies are read as. Default: the client's own setting. */
  readonly typeMapping?: NodeRedisTypeMapping;
}

/** The JavaScript types for types of the Redis protocol, by their character codes. */
export interface NodeRedisTypeMapping {
  /** The type for bulk strings (`$`). */
  readonly 36: BufferConstructor;
}

/** The client that `duplicate()` makes. */
export interface NodeRedisSubscriber {
  /** Whether it is connected or reconnecting. */
  readonly isOpen: boolean;
  /** Listens to errors. */
  on(event: "error", listener: () => void): unknown;
  /** Connects to the server. */
  connect(): Promise<unknown>;
  /** Subscribes to a channel. */
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<void>;
  /** Ends a subscription. */
  unsubscribe(channel: string): Promise<void>;
  /** Closes the connection. */
  destroy(): void;
}
