/** Counts the replies of servers: resolves at the quorum, and rejects as soon as a quorum is out of reach. */
class Vote {
  #granted = 0;
  #denied = 0;
  readonly #quorum: number;
  readonly #deniedMax: number;
  readonly #resolve: () => void;
  readonly #reject: (error: Error) => void;

  constructor(servers: number, quorum: number, resolve: () => void, reject: (error: Error) => void) {
    this.#quorum = quorum;
    this.#deniedMax = servers - quorum;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  count(isGranted: boolean): void {
    if (isGranted) {
      if (++this.#granted === this.#quorum) this.#resolve();
    } else if (++this.#denied > this.#deniedMax) this.#reject(new Error("no quorum"));
  }
}

/** The majority of so many servers. */
export function quorumOf(servers: number): number {
  return Math.floor(servers / 2) + 1;
}

/** Calls every server, and settles with the vote. A reply of `null` denies; so does an error. */
export function atQuorum<Server>(
  servers: readonly Server[],
  call: (server: Server) => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const vote = new Vote(servers.length, quorumOf(servers.length), resolve, reject);
    const onReply = (reply: unknown): void => vote.count(reply !== null);
    const onError = (): void => vote.count(false);
    for (const server of servers) call(server).then(onReply, onError);
  });
}
