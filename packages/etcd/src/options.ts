/*
 * The public types. No declaration that users see imports grpc-js, whose own declarations have errors under the module
 * resolution `bundler`.
 */

/** The options of {@link etcdNode}. */
export interface EtcdNodeOptions {
  /**
   * The addresses of the cluster's members: `"http://host:port"`, `"https://host:port"`, or `"host:port"`, which uses
   * TLS if `tls` is given. The port defaults to 2379. All members of one cluster are one node.
   */
  readonly endpoints: string | readonly string[];
  /** The node's name in errors, events and logs. Default: `etcd`, and the first endpoint. */
  readonly name?: string | undefined;
  /** What the names of all keys start with. Nodes with different prefixes share nothing. Default `"lock/"`. */
  readonly prefix?: string | undefined;
  /** Certificates for TLS. Default: the system's certificates for `https` endpoints. */
  readonly tls?: EtcdTlsOptions | undefined;
  /** The user to log in as, if the cluster requires authentication. Needs `password`. */
  readonly username?: string | undefined;
  /** The user's password. Needs `username`. */
  readonly password?: string | undefined;
  /**
   * The server's own `--max-txn-ops`. A call can claim one less than half as many resources. Default 128, which is
   * etcd's default: 63 resources.
   */
  readonly maxTxnOps?: number | undefined;
  /**
   * Whether a cluster that another node of the same `Redlock` uses is refused, as it must not vote twice. Switch it off for
   * tests that put several nodes on one cluster. Default true.
   */
  readonly verifyServer?: boolean | undefined;
}

/** Certificates in PEM format. */
export interface EtcdTlsOptions {
  /** The certificate authority that signed the certificates of the servers. Default: those of the system. */
  readonly ca?: string | Uint8Array | undefined;
  /** The client's certificate, for servers that require one. Needs `key`. */
  readonly cert?: string | Uint8Array | undefined;
  /** The private key of `cert`. */
  readonly key?: string | Uint8Array | undefined;
}
