/** The majority of so many servers. */
export function quorumOf(servers: number): number {
  return Math.floor(servers / 2) + 1;
}

/**
 * Calls every server, and settles with the vote: resolves at the quorum, and rejects as soon as a quorum is out of reach. A
 * reply of `null` denies; so does an error.
 */
export function atQuorum<Server>(
  servers: readonly Server[],
  call: (server: Server) => Promise<unknown>,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const quorum = quorumOf(servers.length);
    let granted = 0;
    let denied = 0;
    const onDenied = (): void => {
      if (++denied > servers.length - quorum) reject(new Error("no quorum"));
    };
    const onReply = (reply: unknown): void => {
      if (reply === null) onDenied();
      else if (++granted === quorum) resolve();
    };
    for (const server of servers) call(server).then(onReply, onDenied);
  });
}
