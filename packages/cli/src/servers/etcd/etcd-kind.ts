import { trialResource } from "../../doctor/try-lock.ts";
import { listingServer, loadDriver, machineOf, type ServerKind } from "../server.ts";
import { type EtcdAddress, parseEtcdAddress } from "./etcd-address.ts";
import { examineEtcd } from "./examine-etcd.ts";

const defaultPrefix = "lock/";

/** The words of `@holdfast/etcd` for the options of this program. */
const words: readonly (readonly [RegExp, string])[] = [
  [/write http:\/\//, "write etcd://"],
  [/write https:\/\//, "write etcds://"],
  [/pass tls\.cert and tls\.key/, "pass --tls-cert and --tls-key"],
  [/tls\.ca\b/, "--tls-ca"],
  [/pass username and password/, "write etcd://user:password@host"],
];

/** etcd, over gRPC. All members of a cluster are one server. */
export const etcdKind: ServerKind<EtcdAddress> = {
  forms: "etcd://[user:password@]host[:port][,host[:port]…], or etcds://… for TLS",
  scheme: /^etcds?:\/\//i,
  parse: parseEtcdAddress,
  async open(address, { prefix = defaultPrefix, tls }) {
    const { etcdNode } = await loadDriver(
      "etcd:// nodes",
      ["@holdfast/etcd", "@grpc/grpc-js"],
      () => import("@holdfast/etcd"),
    );
    const { hosts, isTls, username, password } = address;
    const endpoints = hosts.map((host) => `${isTls ? "https" : "http"}://${host}`);
    const hasTls = isTls && Object.keys(tls).length > 0;
    const node = etcdNode({ endpoints, name: hosts.join(","), username, password, prefix, ...(hasTls && { tls }) });
    return listingServer({
      node,
      prefix,
      // A user for locks may read any resource.
      connect: () => node.inspect(trialResource).catch(inOwnWords),
      misaddresses: (problem) => (problem as { readonly code?: unknown }).code === "MISCONFIGURED",
      address: () => ({ machine: machineNamed(address), isTls, database: null }),
      examine: (options) => examineEtcd(node, address, tls, options),
      async close() {
        await node.close();
      },
    });
  },
};

/** Throws an error with the words of this program. */
function inOwnWords(error: Error): never {
  error.message = words.reduce((text, [theirs, ours]) => text.replace(theirs, ours), error.message);
  throw error;
}

/** Returns the machine of a cluster whose members are all on one; it is known only for this one. */
function machineNamed({ hosts }: EtcdAddress): string | null {
  const names = new Set(hosts.map((host) => host.replace(/:\d+$/, "").replace(/^\[|\]$/g, "")));
  const machines = new Set([...names].map((name) => machineOf(name === "localhost" ? "127.0.0.1" : name)));
  const [machine = null] = machines;
  return machines.size === 1 ? machine : null;
}
