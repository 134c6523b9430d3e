/** What the program says, and where: results go to standard output, everything else to standard error. */
import pc from "picocolors";
import { exitCodes } from "../exit-codes.ts";

const { stdout, stderr, env } = process;

/** Colours for standard output: where it is no terminal, only if `FORCE_COLOR` asks for them; never with `NO_COLOR`. */
export const colors: ReturnType<typeof pc.createColors> = pc.createColors(
  pc.isColorSupported && (stdout.isTTY || Boolean(env.FORCE_COLOR)),
);

/** Writes a result. */
export function print(text: string): void {
  stdout.write(`${text}\n`);
}

/** Writes what went wrong, or what goes on. `run` leaves standard output to its command. */
export function complain(text: string): void {
  stderr.write(`holdfast: ${withoutPasswords(withoutArguments(text)).split("\n").map(printable).join("\n")}\n`);
}

/**
 * A text without the arguments of a command that a server does not know. A server that does not know AUTH or HELLO repeats the
 * password in its error.
 */
export function withoutArguments(text: string): string {
  return text.replaceAll(/,? with args beginning with[^\n]*/gi, "");
}

/** Errors about addresses repeat nothing of them. But somebody may write one where a name should stand. */
function withoutPasswords(text: string): string {
  return text.replaceAll(/:\/\/\S*@/g, "://…@").replaceAll(/(^|\s)[^\s:/]*:(?!\/\/)\S+@/g, "$1…@");
}

/** A text as it can be shown: what servers hold may be anything, and must not steer the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}\u2028\u2029]/gu, "\uFFFD");
}

/**
 * Ends the process quietly where nobody reads its output any more, as SIGPIPE ends other programs, and with one line where
 * output cannot be written. That standard error is lost changes nothing: above all, no command under a lock ends for it.
 */
export function surviveLostOutput(): void {
  stderr.on("error", () => {});
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCodes.brokenPipe);
    complain(`could not write to standard output: ${error.code}`);
    process.exit(exitCodes.output);
  });
}
