import { type Answer, type Denied, type Failed, type Granted, isMisconfigured } from "./answers.ts";
import type { Ballot } from "./broadcast.ts";
import type { Settings } from "./options.ts";
import { isOutOfReach } from "./quorum.ts";

/** Counts what the nodes say to one attempt. */
export class Vote implements Ballot<Granted | Denied> {
  readonly answers: Answer<Granted | Denied>[] = [];
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** The token, if the vote is won: the highest fence, once a quorum has had exactly that one. */
  fence = 0;
  /** When the claims in the way end, in milliseconds; 0 where the nodes do not know it. */
  retryAfterMs = 0;
  readonly #nodeCount: number;
  readonly #quorum: number;
  #granted = 0;
  #denied = 0;
  #failed = 0;
  #agreed = 0;
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
      this.retryAfterMs = Math.max(this.retryAfterMs, answer.retryAfterMs ?? 0);
    } else {
      this.#failed += 1;
      this.#isHopeless ||= isMisconfigured(answer);
    }
    return this.#granted >= this.#quorum || this.#isHopeless || this.#isOutOfReach(this.#denied + this.#failed);
  }

  /** Counts a node that holds the claim with this fence. */
  countFence(fence: number): void {
    if (fence > this.fence) {
      this.fence = fence;
      this.#agreed = 0;
    }
    if (fence === this.fence) this.#agreed += 1;
  }

  /** How many more nodes must have had the fence for it to be the token. */
  get unconfirmed(): number {
    return this.#quorum - this.#agreed;
  }

  /** What came of it. If a quorum of nodes did answer, or still might have, it is another owner that stood in the way. */
  get outcome(): "acquired" | "held" | "unreachable" | "misconfigured" {
    if (this.#granted >= this.#quorum) return "acquired";
    if (this.#isHopeless) return "misconfigured";
    return this.#denied > 0 && !this.#isOutOfReach(this.#failed) ? "held" : "unreachable";
  }

  #isOutOfReach(dropped: number): boolean {
    return isOutOfReach(dropped, this.#nodeCount, this.#quorum);
  }
}
