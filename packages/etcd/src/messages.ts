/** The part of etcd's API (version 3) that locks need: messages, methods, and how both become bytes. */
import protobuf from "protobufjs";

/** The field numbers are etcd's own: `rpc.proto`, `kv.proto` and `auth.proto` of its repository. */
const proto = `
  syntax = "proto3";

  message ResponseHeader { uint64 cluster_id = 1; uint64 member_id = 2; int64 revision = 3; uint64 raft_term = 4; }
  message KeyValue {
    bytes key = 1; int64 create_revision = 2; int64 mod_revision = 3; int64 version = 4; bytes value = 5;
    int64 lease = 6;
  }

  message RangeRequest { bytes key = 1; bytes range_end = 2; int64 limit = 3; }
  message RangeResponse { ResponseHeader header = 1; repeated KeyValue kvs = 2; }
  message PutRequest { bytes key = 1; bytes value = 2; int64 lease = 3; }
  message PutResponse { ResponseHeader header = 1; }
  message DeleteRangeRequest { bytes key = 1; }
  message DeleteRangeResponse { ResponseHeader header = 1; int64 deleted = 2; }
  message RequestOp {
    oneof request {
      RangeRequest request_range = 1; PutRequest request_put = 2; DeleteRangeRequest request_delete_range = 3;
      TxnRequest request_txn = 4;
    }
  }
  message ResponseOp {
    oneof response {
      RangeResponse response_range = 1; PutResponse response_put = 2; DeleteRangeResponse response_delete_range = 3;
      TxnResponse response_txn = 4;
    }
  }
  message Compare {
    enum CompareResult { EQUAL = 0; GREATER = 1; LESS = 2; NOT_EQUAL = 3; }
    enum CompareTarget { VERSION = 0; CREATE = 1; MOD = 2; VALUE = 3; LEASE = 4; }
    CompareResult result = 1; CompareTarget target = 2; bytes key = 3;
    oneof target_union { int64 mod_revision = 6; bytes value = 7; }
    bytes range_end = 64;
  }
  message TxnRequest { repeated Compare compare = 1; repeated RequestOp success = 2; repeated RequestOp failure = 3; }
  message TxnResponse { ResponseHeader header = 1; bool succeeded = 2; repeated ResponseOp responses = 3; }

  message LeaseGrantRequest { int64 TTL = 1; int64 ID = 2; }
  message LeaseGrantResponse { ResponseHeader header = 1; int64 ID = 2; int64 TTL = 3; string error = 4; }
  message LeaseRevokeRequest { int64 ID = 1; }
  message LeaseRevokeResponse { ResponseHeader header = 1; }
  message LeaseTimeToLiveRequest { int64 ID = 1; bool keys = 2; }
  message LeaseTimeToLiveResponse {
    ResponseHeader header = 1; int64 ID = 2; int64 TTL = 3; int64 grantedTTL = 4; repeated bytes keys = 5;
  }

  message WatchRequest { oneof request_union { WatchCreateRequest create_request = 1; WatchCancelRequest cancel_request = 2; } }
  message WatchCreateRequest {
    enum FilterType { NOPUT = 0; NODELETE = 1; }
    bytes key = 1; bytes range_end = 2; int64 start_revision = 3; repeated FilterType filters = 5; int64 watch_id = 7;
  }
  message WatchCancelRequest { int64 watch_id = 1; }
  message Event { enum EventType { PUT = 0; DELETE = 1; } EventType type = 1; KeyValue kv = 2; }
  message WatchResponse {
    ResponseHeader header = 1; int64 watch_id = 2; bool created = 3; bool canceled = 4; int64 compact_revision = 5;
    string cancel_reason = 6; repeated Event events = 11;
  }

  message AuthenticateRequest { string name = 1; string password = 2; }
  message AuthenticateResponse { ResponseHeader header = 1; string token = 2; }
`;

/**
 * A 64-bit integer. Revisions count writes, and the ids of leases are chosen by their client, so both are safe integers.
 */
export type Int64 = number;

/** The first field of every reply. */
export interface Header {
  /** Beyond the safe integers, and therefore rounded. */
  readonly clusterId: Int64;
  readonly revision: Int64;
}

/** A key and its value. */
export interface KeyValue {
  readonly key: Buffer;
  readonly modRevision: Int64;
  /** How many times it was written since it was created. */
  readonly version: Int64;
  readonly value: Buffer;
  readonly lease: Int64;
}

/**
 * A condition of a transaction. A comparison of the value of a missing key is false. With `rangeEnd`, it must hold for
 * all keys of a range; if there are none, for the revision 0.
 */
export interface Compare {
  readonly key: Uint8Array;
  readonly rangeEnd?: Uint8Array;
  readonly target: "MOD" | "VALUE";
  readonly result: "EQUAL" | "LESS" | "GREATER";
  readonly modRevision?: Int64;
  readonly value?: Uint8Array;
}

/** One operation of a transaction. */
export type RequestOp =
  | { readonly requestRange: { readonly key: Uint8Array; readonly rangeEnd?: Uint8Array; readonly limit?: Int64 } }
  | { readonly requestPut: { readonly key: Uint8Array; readonly value: Uint8Array; readonly lease?: Int64 } }
  | { readonly requestDeleteRange: { readonly key: Uint8Array } }
  | { readonly requestTxn: TxnRequest };

/** The operations `success` if all conditions hold, else the operations `failure`. */
export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly RequestOp[];
  readonly failure: readonly RequestOp[];
}

/** The reply to a transaction. */
export interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly {
    readonly responseRange?: { readonly kvs: readonly KeyValue[] };
    readonly responseDeleteRange?: { readonly deleted: Int64 };
    readonly responseTxn?: TxnResponse;
  }[];
}

/** Starts or ends the watch of a range of keys. */
export type WatchRequest =
  | {
      readonly createRequest: {
        readonly key: Uint8Array;
        readonly rangeEnd: Uint8Array;
        readonly startRevision: Int64;
        readonly filters: readonly "NOPUT"[];
        readonly watchId: number;
      };
    }
  | { readonly cancelRequest: { readonly watchId: number } };

/** What the server says about one watch. */
export interface WatchResponse {
  readonly header: Header;
  readonly watchId: Int64;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: Int64;
  readonly cancelReason: string;
  readonly events: readonly { readonly type: "PUT" | "DELETE"; readonly kv: KeyValue }[];
}

/** A method of etcd. */
export interface Method<Request, Reply> {
  /** Its path on the server. */
  readonly path: string;
  encode(request: Request): Buffer;
  decode(bytes: Buffer): Reply;
}

const { root } = protobuf.parse(proto);
/** Enum values by name, 64-bit integers as numbers, and every field, as a missing one means its default. */
const form: protobuf.IConversionOptions = { longs: Number, enums: String, defaults: true, arrays: true };

function method<Request extends object, Reply>(path: string, request: string, reply: string): Method<Request, Reply> {
  const [requestType, replyType] = [root.lookupType(request), root.lookupType(reply)];
  return {
    path: `/etcdserverpb.${path}`,
    encode: (message) => Buffer.from(requestType.encode(requestType.fromObject(message)).finish()),
    decode: (bytes) => replyType.toObject(replyType.decode(bytes), form) as Reply,
  };
}

export const txn: Method<TxnRequest, TxnResponse> = method("KV/Txn", "TxnRequest", "TxnResponse");

export const leaseGrant: Method<
  { readonly TTL: number; readonly ID: Int64 },
  { readonly ID: Int64; readonly TTL: Int64 }
> = method("Lease/LeaseGrant", "LeaseGrantRequest", "LeaseGrantResponse");

export const leaseRevoke: Method<{ readonly ID: Int64 }, object> = method(
  "Lease/LeaseRevoke",
  "LeaseRevokeRequest",
  "LeaseRevokeResponse",
);

/** `TTL` is what is left, in whole seconds, rounded down; -1 if there is no such lease. */
export const leaseTimeToLive: Method<
  { readonly ID: Int64; readonly keys: boolean },
  { readonly TTL: Int64; readonly keys: readonly Buffer[] }
> = method("Lease/LeaseTimeToLive", "LeaseTimeToLiveRequest", "LeaseTimeToLiveResponse");

export const watch: Method<WatchRequest, WatchResponse> = method("Watch/Watch", "WatchRequest", "WatchResponse");

export const authenticate: Method<{ readonly name: string; readonly password: string }, { readonly token: string }> =
  method("Auth/Authenticate", "AuthenticateRequest", "AuthenticateResponse");
