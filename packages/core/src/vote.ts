import { type Answer, type Denied, type Failed, type Granted, isMisconfigured } from "./answers.ts";
import type { Ballot } from "./broadcast.ts";
import type { Settings } from "./options.ts";
import { isOutOfReach } from "./quorum.ts";

/** Counts what the nodes say to one attempt. */
export class Vote implements Ballot<Granted | Denied> {
  readonly answers: Answer<Granted | Denied>[] = [];
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly #nodeCount: number;
  readonly #quorum: number;
  #granted = 0;
  #denied = 0;
  #failed = 0;
  #agreed = 0;
  #highestFence = 0;
  #retryAfterMs = 0;
  #isHopeless = false;

  /**
   * @param nodeCount how many nodes are asked
   * @param settings how many of them must grant, and when
   */
  constructor(nodeCount: number, { nodeTimeoutMs, quorum, signal }: Settings) {
    this.timeoutMs = nodeTimeoutMs;
    this.signal = signal;
    this.#nodeCount = nodeCount;
    this.#quorum = quorum;
  }

  /**
   * Counts an answer, and tells whether the vote is decided: a quorum of grants wins; so many other answers that no
   * quorum is left lose, and so does one that says that it can never work. A tie of an even number loses, too.
   */
  count(answer: Granted | Denied | Failed): boolean {
    if (answer.kind === "granted") {
      this.#granted += 1;
      this.countFence(answer.fence);
    } else if (answer.kind === "denied") {
      this.#denied += 1;
      this.#retryAfterMs = Math.max(this.#retryAfterMs, answer.retryAfterMs ?? 0);
    } else {
      this.#failed += 1;
      this.#isHopeless ||= isMisconfigured(answer);
    }
    return this.isWon || this.#isHopeless || isOutOfReach(this.#denied + this.#failed, this.#nodeCount, this.#quorum);
  }

  /** Counts a node that holds the claim with this fence. */
  countFence(fence: number): void {
    if (fence > this.#highestFence) {
      this.#highestFence = fence;
      this.#agreed = 0;
    }
    if (fence === this.#highestFence) this.#agreed += 1;
  }

  /** Whether a quorum granted. */
  get isWon(): boolean {
    return this.#granted >= this.#quorum;
  }

  /** The token, if the vote was won: the highest fence, once a quorum has had exactly that one. */
  get fence(): number {
    return this.#highestFence;
  }

  /** How many more nodes must have had the fence for it to be the token. */
  get unconfirmed(): number {
    return this.#quorum - this.#agreed;
  }

  /** How it was lost. If a quorum of nodes did answer, or still might have, it is the other owner that stood in the way. */
  get loss(): "held" | "unreachable" | "misconfigured" {
    if (this.#isHopeless) return "misconfigured";
    const isOtherInTheWay = this.#denied > 0 && !isOutOfReach(this.#failed, this.#nodeCount, this.#quorum);
    return isOtherInTheWay ? "held" : "unreachable";
  }

  /** When the claims in the way end, in milliseconds, where the nodes know it. */
  get retryAfterMs(): number | undefined {
    return (this.loss === "held" && this.#retryAfterMs) || undefined;
  }
}
