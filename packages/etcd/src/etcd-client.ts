import { type ClientDuplexStream, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { EtcdError } from "./failures.ts";
import { askMembers, connectionTo, disconnect, type Member } from "./members.ts";
import { authenticate, type Method, type WatchRequest, type WatchResponse, watch } from "./messages.ts";
import type { Settings } from "./settings.ts";

/** A client of one etcd cluster. It connects when it is first used, and no request waits for a later connection. */
export interface EtcdClient {
  /**
   * Calls a method, on another member if one does not reply, until the deadline.
   *
   * @param deadlineMs on the clock of `performance.now()`
   * @throws {EtcdError} if the call failed
   */
  call<Request, Reply>(method: Method<Request, Reply>, request: Request, deadlineMs: number): Promise<Reply>;
  /** Opens a stream of watches: to the member that has replied last, or to another one after a stream has failed. */
  openWatch(deadlineMs: number): Promise<WatchStream>;
  /** Closes all connections. Later calls open one for as long as they take. */
  close(): void;
}

/** See {@link EtcdClient.openWatch}. */
export interface WatchStream extends ClientDuplexStream<WatchRequest, WatchResponse> {}

/** How long connections to other members than the one that replies stay open. */
const trimMs = 1_000;

/** How many times one call logs in: a token may end at any time, but not each time. */
const loginsMax = 2;

/** Creates a client. It opens no connection yet. */
export function createEtcdClient({ endpoints, user }: Pick<Settings, "endpoints" | "user">): EtcdClient {
  const members = endpoints.map(
    (endpoint): Member => ({ endpoint, client: undefined, silentSinceMs: undefined, inFlight: 0 }),
  );
  let preferred = 0;
  let inFlight = 0;
  let isClosed = false;
  let token: Promise<string> | undefined;
  let trimming: NodeJS.Timeout | undefined;

  const ask = async <Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    metadata: Metadata,
    deadlineMs: number,
  ): Promise<Reply> => {
    const { member, reply } = await askMembers(members, preferred, { method, request, metadata, deadlineMs });
    preferred = members.indexOf(member);
    trimSoon();
    return reply;
  };

  const trimSoon = (): void => {
    const isAlone = members.every((member, index) => index === preferred || member.client === undefined);
    if (!isAlone && !isClosed) trimming ??= setTimeout(trim, trimMs).unref();
  };
  /** Closes the connections that are no longer used, once the calls to other members are over. */
  const trim = (): void => {
    trimming = undefined;
    for (const [index, member] of members.entries()) {
      if (index !== preferred && member.inFlight === 0) disconnect(member);
    }
  };

  const logIn = async (as: NonNullable<typeof user>, deadlineMs: number): Promise<string> => {
    try {
      return (await ask(authenticate, as, new Metadata(), deadlineMs)).token;
    } catch (error) {
      // The server then needs no token. Once it does, it refuses calls without one.
      if (error instanceof EtcdError && /authentication is not enabled/.test(error.message)) return "";
      token = undefined;
      throw error;
    }
  };
  const metadataFor = async (deadlineMs: number): Promise<Metadata> => {
    const metadata = new Metadata();
    if (user === undefined) return metadata;
    token ??= logIn(user, deadlineMs);
    const text = await token;
    if (text !== "") metadata.set("token", text);
    return metadata;
  };

  /** Calls a method, and logs in again if the token has ended. */
  const callAs = async <Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    deadlineMs: number,
  ): Promise<Reply> => {
    for (let logins = 0; ; logins++) {
      const metadata = await metadataFor(deadlineMs);
      const used = token;
      try {
        return await ask(method, request, metadata, deadlineMs);
      } catch (error) {
        if (user === undefined || logins === loginsMax || !isAboutToken(error)) throw error;
        if (token === used) token = undefined;
      }
    }
  };

  const disconnectAll = (): void => {
    clearTimeout(trimming);
    trimming = undefined;
    for (const member of members) disconnect(member);
  };

  return {
    async call(method, request, deadlineMs) {
      inFlight += 1;
      try {
        return await callAs(method, request, deadlineMs);
      } finally {
        inFlight -= 1;
        if (isClosed && inFlight === 0) disconnectAll();
      }
    },

    async openWatch(deadlineMs) {
      const metadata = await metadataFor(deadlineMs);
      // A member without a leader, as in the smaller part of a divided network, then ends the stream.
      metadata.set("hasleader", "true");
      const { path, encode, decode } = watch;
      const index = preferred;
      const client = connectionTo(members[index] as Member);
      const stream: WatchStream = client.makeBidiStreamRequest(path, encode, decode, metadata, {});
      stream.once("error", (error: ServiceError) => {
        if (error.code === status.CANCELLED) return;
        if (preferred === index) preferred = (index + 1) % members.length;
        trimSoon();
        if (isAboutToken(error)) token = undefined;
      });
      return stream;
    },

    close() {
      isClosed = true;
      if (inFlight === 0) disconnectAll();
    },
  };
}

/** Whether the server wants another token: this one has ended, or was made before users and roles changed. */
function isAboutToken(error: unknown): boolean {
  return error instanceof Error && /invalid auth token|revision of auth store|user name is empty/.test(error.message);
}
