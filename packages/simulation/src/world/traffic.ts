import type { TrafficRecord } from "../history/history.ts";

/** A request that has been sent. */
export interface InFlight {
  /** When its client gives up on it. */
  readonly untilMs: number;
  isAnswered: boolean;
}

/** Counts a client's requests to a node, and how many are in flight: neither answered nor given up by the client. */
export class Traffic implements TrafficRecord {
  readonly client: string;
  readonly node: string;
  requests = 0;
  mostInFlight = 0;
  readonly #nowMs: () => number;
  #sent: InFlight[] = [];

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

  /** Counts a request that is sent and has a reply until `timeoutMs` from now. */
  send(timeoutMs: number, isCounted: boolean): InFlight {
    if (isCounted) this.requests += 1;
    const request = { untilMs: this.#nowMs() + timeoutMs, isAnswered: false };
    this.#sent = this.#stillSent();
    this.#sent.push(request);
    this.mostInFlight = Math.max(this.mostInFlight, this.#sent.length);
    return request;
  }

  #stillSent(): InFlight[] {
    const nowMs = this.#nowMs();
    return this.#sent.filter(({ untilMs, isAnswered }) => !isAnswered && nowMs < untilMs);
  }
}
