/** What the process exits with, after BSD's sysexits and what shells do. A command's own status passes through `run`. */
export const exitCodes = {
  ok: 0,
  /** `doctor` has findings; `release` was not confirmed. */
  no: 1,
  /** The command line, the environment or the configuration file is wrong. Nothing was done. */
  usage: 64,
  /** Too few servers answered. */
  noQuorum: 69,
  /** A mistake in this program. */
  internal: 70,
  /** Output could not be written. */
  output: 74,
  /** Another owner held the lock for as long as was waited. */
  held: 75,
  /** The lock was lost while the command ran. */
  lost: 76,
  /** The servers can never work like this, however often it is tried. */
  misconfigured: 78,
  /** The command was found, and could not be executed. */
  notExecutable: 126,
  /** The command was not found. */
  notFound: 127,
  /** Nobody read the output any more: 128 and SIGPIPE. */
  brokenPipe: 141,
} as const;

/** Ends the program with a message on standard error and an exit code. */
export class Failure extends Error {
  readonly exitCode: number;

  /**
   * @param message for the user: what could not be done, and why. It never holds a password
   * @param exitCode one of {@link exitCodes}
   */
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** What was asked for is wrong. */
export class UsageError extends Failure {
  /** @param message names the option and what is wanted */
  constructor(message: string) {
    super(message, exitCodes.usage);
  }
}

/** The codes that a user meets, for the help. */
export const exitCodesHelp = `Exit codes:
  1         doctor: the level is not reached; release: it was not confirmed
  64        the command line or the configuration is wrong
  69        too few servers answered
  75        another owner held the lock; see run --conflict-exit-code
  76        the lock was lost
  78        the servers can never work like this
  126, 127  the command cannot be executed, is not found
  Else that of the command, or 128 and the number of the signal that ended it.`;
