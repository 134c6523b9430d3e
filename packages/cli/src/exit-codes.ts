/**
 * The exit codes, which follow BSD's sysexits and the conventions of shells. `run` and `lead` pass on the status
 * of the command.
 */
export const exitCodes = {
  ok: 0,
  /**
   * `doctor`: the required level is not reached; `verify`: not held; `migrate`: the step cannot be taken yet; `guard
   * --check`: a table does not refuse stale writers; `check`: the history violates a rule.
   */
  no: 1,
  /** `check`: the accesses to a value have too many possible orders. */
  undecided: 2,
  /** The command line or the environment is wrong. Nothing was done. */
  usage: 64,
  /** `check`: a file is no history. */
  data: 65,
  /** Too few servers answered; `verify`: it cannot be told. */
  noQuorum: 69,
  /** A bug in this program. */
  internal: 70,
  /** Output could not be written. */
  output: 74,
  /** Another owner held the lock for the whole wait; `run --ticket`: the ticket is spent. */
  held: 75,
  /** The lock was lost while the command ran. */
  lost: 76,
  /** The servers cannot work in this configuration, however often the command is retried. */
  misconfigured: 78,
  /** The command was found but could not be executed. */
  notExecutable: 126,
  /** The command was not found. */
  notFound: 127,
  /** The reader of the output has gone: 128 + SIGPIPE. */
  brokenPipe: 141,
} as const;

/** Ends the program with a message on standard error and an exit code. */
export class Failure extends Error {
  readonly exitCode: number;

  /**
   * @param message for the user: the action that failed and the reason, without any password
   * @param exitCode one of {@link exitCodes}
   */
  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** An error in the command line, the environment or the configuration. */
export class UsageError extends Failure {
  /** @param message names the option and says what it must be */
  constructor(message: string) {
    super(message, exitCodes.usage);
  }
}

/** The exit codes as the help shows them. */
export const exitCodesHelp = `Exit codes:
  1         doctor: the required level is not reached; verify: not held;
            migrate: not possible yet;
            guard --check: a table does not refuse stale writers;
            check: the history violates a rule
  2         check: undecided
  64        the command line or the environment is wrong
  65        check: a file is no history
  69        too few servers replied; verify: unknown
  75        another owner held the lock, or the ticket is spent;
            see run --conflict-exit-code
  76        the lock was lost
  78        the servers cannot work in this configuration
  126       the command cannot be executed
  127       the command was not found
  run and lead otherwise exit with the status of the command, or 128 + the signal number.`;
