/** etcd over gRPC: Holdfast with its defaults, and etcd's own lock service. */

import { credentials, Client as GrpcClient } from "@grpc/grpc-js";
import { etcdNode } from "@holdfast/etcd";
import protobuf from "protobufjs";
import type { Connect } from "./contender.ts";
import { holdfastClient } from "./holdfast-client.ts";

export const overEtcd: Connect = async ([url], settings) =>
  holdfastClient([etcdNode({ endpoints: String(url) })], settings, () => {});

/** Of `v3lock.proto` and `rpc.proto` of etcd's repository. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message LockRequest { bytes name = 1; int64 lease = 2; }
  message LockResponse { bytes key = 2; }
  message UnlockRequest { bytes key = 1; }
  message UnlockResponse {}
  message LeaseGrantRequest { int64 TTL = 1; }
  message LeaseGrantResponse { int64 ID = 2; }
  message LeaseRevokeRequest { int64 ID = 1; }
  message LeaseRevokeResponse {}
`);

/** Longer than a client is open, so that no lease has to be kept alive. */
const leaseSeconds = 600;

/**
 * `Lock` and `Unlock` of the lock service. A lease excludes only other leases, so each call has one to itself; it is granted
 * once, and used again for later locks, as sessions of etcd's Go client are.
 */
export const lockService: Connect = async ([url]) => {
  const client = new GrpcClient(new URL(String(url)).host, credentials.createInsecure());
  const call = callsOf(client);
  const all: unknown[] = [];
  const free: unknown[] = [];
  const newLease = async (): Promise<unknown> => {
    const { ID } = await call("etcdserverpb.Lease/LeaseGrant", { TTL: leaseSeconds });
    all.push(ID);
    return ID;
  };
  return {
    async acquire(name) {
      const lease = free.pop() ?? (await newLease());
      const { key } = await call("v3lockpb.Lock/Lock", { name: Buffer.from(name), lease });
      return async () => {
        await call("v3lockpb.Lock/Unlock", { key });
        free.push(lease);
      };
    },
    async close() {
      await Promise.all(all.map((ID) => call("etcdserverpb.Lease/LeaseRevoke", { ID })));
      client.close();
    },
  };
};

type Message = Record<string, unknown>;

/** Returns a function that calls a method, such as `v3lockpb.Lock/Lock`. */
function callsOf(client: GrpcClient): (method: string, request: Message) => Promise<Message> {
  return (method, message) => {
    const name = method.slice(method.indexOf("/") + 1);
    const [request, response] = [root.lookupType(`${name}Request`), root.lookupType(`${name}Response`)];
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest<Message, Message>(
        `/${method}`,
        (fields) => Buffer.from(request.encode(fields).finish()),
        (bytes) => response.decode(bytes) as unknown as Message,
        message,
        (error, reply) => (error ? reject(error) : resolve(reply as Message)),
      );
    });
  };
}
