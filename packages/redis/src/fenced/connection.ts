/**
 * What one client library has to offer for its clients to become fenced stores: all that differs between libraries. Other
 * Redis clients than those of Holdfast's adapters can be used by implementing it.
 */
export interface FencedConnection {
  /** Whether a command with this key that is sent now goes to its server now, instead of waiting for a connection. */
  isReady(key: string): boolean;

  /**
   * Sends one command: `EVALSHA` and the script's hash, or `EVAL` and its source; then `1`, the key, and the arguments.
   * Resolves with the reply, in which strings are a `Buffer` each, byte for byte; or rejects with the error that the server
   * or client gives. The message of a server's error must begin with its code (`NOSCRIPT`).
   *
   * All commands should go over one connection to the server (or, on a cluster, to the server of the key), in the order of
   * the calls. The first argument is a `Buffer` that must be written as it is when the command is written to the socket,
   * however late that may be: its content is changed when the command must have no effect any more. A library that copies
   * it early must not write the command once `timeoutMs` have passed.
   */
  runScript(
    command: "EVALSHA" | "EVAL",
    script: string,
    key: string,
    args: readonly (string | Buffer)[],
    timeoutMs: number,
  ): Promise<unknown>;
}
