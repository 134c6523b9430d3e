import type { TrafficRecord } from "../history/history.ts";

/** A request that has been sent. */
export interface InFlight {
  /** When its client gives it up. */
  readonly untilMs: number;
  isAnswered: boolean;
}

/** Counts what a client asks of a node, and how much of it is in flight: neither answered nor given up by the client. */
export class Traffic implements TrafficRecord {
  readonly client: string;
  readonly node: string;
  requests = 0;
  mostInFlight = 0;
  readonly #nowMs: () => number;
  #sent: InFlight[] = [];

  /**
   * @param client who asks
   * @param node who is asked
   * @param nowMs the time
   */
  constructor(client: string, node: string, nowMs: () => number) {
    this.client = client;
    this.node = node;
    this.#nowMs = nowMs;
  }

  get inFlight(): number {
    return this.#stillSent().length;
  }

  /** A request is sent, and waited for so long. */
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
