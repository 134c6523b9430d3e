/** Holdfast lock nodes over etcd. */

export { type EtcdNode, etcdNode } from "./etcd-node.ts";
export type { EtcdNodeOptions, EtcdTlsOptions } from "./options.ts";
