import { type ClientDuplexStream, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import { EtcdError } from "./failures.ts";
import { askMembers, connectionTo, disconnect, type Member } from "./members.ts";
import { authenticate, type Method, type WatchRequest, type WatchResponse, watch } from "./messages.ts";
import type { Settings } from "./settings.ts";

/** A stream of watches. */
export interface WatchStream extends ClientDuplexStream<WatchRequest, WatchResponse> {}

/** How long connections to other members than the one that replies stay open. */
const trimMs = 1_000;

/** How many times one call logs in: a token may end at any time, but not each time. */
const loginsMax = 2;

/** A client of one etcd cluster. It connects when it is first used, and no request waits for a later connection. */
export class EtcdClient {
  readonly #members: readonly Member[];
  readonly #user: Settings["user"];
  /** The index of the member that has replied last. */
  #preferred = 0;
  #inFlight = 0;
  #isClosed = false;
  #token: Promise<string> | undefined;
  #trimming: NodeJS.Timeout | undefined;

  /** @param settings the members, and the user to log in as */
  constructor({ endpoints, user }: Pick<Settings, "endpoints" | "user">) {
    this.#members = endpoints.map((endpoint) => ({
      ...{ endpoint, client: undefined, silentSinceMs: undefined, inFlight: 0 },
    }));
    this.#user = user;
  }

  /**
   * Calls a method, on another member if one does not reply, until the deadline.
   *
   * @param deadlineMs on the clock of `performance.now()`
   * @throws {EtcdError} if the call failed
   */
  async call<Request, Reply>(method: Method<Request, Reply>, request: Request, deadlineMs: number): Promise<Reply> {
    this.#inFlight += 1;
    try {
      return await this.#callAs(method, request, deadlineMs);
    } finally {
      this.#inFlight -= 1;
      if (this.#isClosed && this.#inFlight === 0) this.#disconnectAll();
    }
  }

  /** Opens a stream of watches: to the member that has replied last, or to another one after a stream has failed. */
  async openWatch(deadlineMs: number): Promise<WatchStream> {
    const metadata = await this.#metadata(deadlineMs);
    // A member without a leader, as in the smaller part of a divided network, then ends the stream.
    metadata.set("hasleader", "true");
    const { path, encode, decode } = watch;
    const index = this.#preferred;
    const client = connectionTo(this.#members[index] as Member);
    const stream: WatchStream = client.makeBidiStreamRequest(path, encode, decode, metadata, {});
    stream.once("error", (error: ServiceError) => {
      if (error.code === status.CANCELLED) return;
      if (this.#preferred === index) this.#preferred = (index + 1) % this.#members.length;
      this.#trimSoon();
      if (isAboutToken(error)) this.#token = undefined;
    });
    return stream;
  }

  /** Closes all connections. Later calls open one for as long as they take. */
  close(): void {
    this.#isClosed = true;
    if (this.#inFlight === 0) this.#disconnectAll();
  }

  /** Calls a method, and logs in again if the token has ended. */
  async #callAs<Request, Reply>(method: Method<Request, Reply>, request: Request, deadlineMs: number): Promise<Reply> {
    for (let logins = 0; ; logins++) {
      const metadata = await this.#metadata(deadlineMs);
      const used = this.#token;
      try {
        return await this.#ask(method, request, metadata, deadlineMs);
      } catch (error) {
        if (this.#user === undefined || logins === loginsMax || !isAboutToken(error)) throw error;
        if (this.#token === used) this.#token = undefined;
      }
    }
  }

  async #metadata(deadlineMs: number): Promise<Metadata> {
    const metadata = new Metadata();
    if (this.#user === undefined) return metadata;
    this.#token ??= this.#logIn(this.#user, deadlineMs);
    const text = await this.#token;
    if (text !== "") metadata.set("token", text);
    return metadata;
  }

  async #logIn(user: NonNullable<Settings["user"]>, deadlineMs: number): Promise<string> {
    try {
      return (await this.#ask(authenticate, user, new Metadata(), deadlineMs)).token;
    } catch (error) {
      // The server then needs no token. Once it does, it refuses calls without one.
      if (error instanceof EtcdError && /authentication is not enabled/.test(error.message)) return "";
      this.#token = undefined;
      throw error;
    }
  }

  async #ask<Request, Reply>(
    method: Method<Request, Reply>,
    request: Request,
    metadata: Metadata,
    deadlineMs: number,
  ): Promise<Reply> {
    const call = { method, request, metadata, deadlineMs };
    const { member, reply } = await askMembers(this.#members, this.#preferred, call);
    this.#preferred = this.#members.indexOf(member);
    this.#trimSoon();
    return reply;
  }

  /** Closes the connections that are no longer used, once the calls to other members are over. */
  #trimSoon(): void {
    const isAlone = this.#members.every((member, index) => index === this.#preferred || member.client === undefined);
    if (isAlone || this.#isClosed) return;
    const trim = (): void => {
      this.#trimming = undefined;
      for (const [index, member] of this.#members.entries()) {
        if (index !== this.#preferred && member.inFlight === 0) disconnect(member);
      }
    };
    this.#trimming ??= setTimeout(trim, trimMs).unref();
  }

  #disconnectAll(): void {
    clearTimeout(this.#trimming);
    this.#trimming = undefined;
    for (const member of this.#members) disconnect(member);
  }
}

/** Whether the server wants another token: this one has ended, or was made before users and roles changed. */
function isAboutToken(error: unknown): boolean {
  return error instanceof Error && /invalid auth token|revision of auth store|user name is empty/.test(error.message);
}
