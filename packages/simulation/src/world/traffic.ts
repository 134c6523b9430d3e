import type { TrafficRecord } from "../history/history.ts";
import type { Method } from "../report/describe-reply.ts";

/** A request that has been sent. */
export interface InFlight {
  /** Its number among the requests of the client to the node. */
  readonly number: number;
  /** When its client gives up on it. */
  readonly untilMs: number;
  isAnswered: boolean;
}

/** Counts a client's requests to a node, and how many are in flight: neither answered nor given up by the client. */
export class Traffic implements TrafficRecord {
  readonly client: string;
  readonly node: string;
  requests = 0;
  claims = 0;
  repeatedReleases = 0;
  mostInFlight = 0;
  readonly #nowMs: () => number;
  /** The owners whose claims the client has released on the node. */
  readonly #released = new Set<string>();
  /** The owners of exclusive claims that the node granted with exactly the proposed token: one release of each is enough. */
  readonly #plainGrants = new Set<string>();
  #sent: InFlight[] = [];
  /** The number of requests, and the number of the latest one that has settled for the client. */
  #latest = 0;
  #latestSettled = 0;

  /**
   * @param client the name of the client that sends
   * @param node the name of the node that receives
   * @param nowMs reads the client's present moment of true time
   */
  constructor(client: string, node: string, nowMs: () => number) {
    this.client = client;
    this.node = node;
    this.#nowMs = nowMs;
  }

  get inFlight(): number {
    return this.#stillSent().length;
  }

  get owed(): number {
    return this.#latest - this.#latestSettled;
  }

  /** Notes that the client has read such a grant. */
  readsPlainGrant(owner: string): void {
    this.#plainGrants.add(owner);
  }

  /** Counts a request that is sent and has a reply until `timeoutMs` from now. */
  send(method: Method, owner: string, timeoutMs: number): InFlight {
    if (method !== "extend") this.requests += 1;
    const isRepeated = method === "release" && this.#released.has(owner);
    if (isRepeated) this.repeatedReleases += 1;
    else if (method === "release") this.#released.add(owner);
    else this.claims += 1;
    this.#latest += 1;
    const request = { number: this.#latest, untilMs: this.#nowMs() + timeoutMs, isAnswered: false };
    if (!isRepeated || this.#plainGrants.has(owner)) this.#sent.push(request);
    if (this.#sent.length > this.mostInFlight) {
      this.#sent = this.#stillSent();
      this.mostInFlight = Math.max(this.mostInFlight, this.#sent.length);
    }
    return request;
  }

  /** Notes that a request has settled for the client. */
  settles({ number }: InFlight): void {
    this.#latestSettled = Math.max(this.#latestSettled, number);
  }

  #stillSent(): InFlight[] {
    const nowMs = this.#nowMs();
    return this.#sent.filter(({ untilMs, isAnswered }) => !isAnswered && nowMs < untilMs);
  }
}
