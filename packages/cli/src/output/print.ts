/** The output of the program: results go to standard output, everything else to standard error. */
import pc from "picocolors";
import { exitCodes } from "../exit-codes.ts";

const { stdout, stderr, env } = process;

/** Colours for standard output. In a pipe they are used only if `FORCE_COLOR` is set; with `NO_COLOR` never. */
export const colors: ReturnType<typeof pc.createColors> = pc.createColors(
  pc.isColorSupported && (stdout.isTTY || Boolean(env.FORCE_COLOR)),
);

/** Writes a result. */
export function print(text: string): void {
  stdout.write(`${text}\n`);
}

/** Writes an error or a progress message to standard error, with reasons. `run` leaves standard output to its command. */
export function printMessage(text: string, reasons: readonly string[] = []): void {
  const lines = withoutPasswords(withoutArguments([text, ...reasons].join("\n  "))).split("\n");
  stderr.write(`holdfast: ${lines.map(printable).join("\n")}\n`);
}

/**
 * Removes the arguments of a command that a server does not know. A server without AUTH or HELLO quotes the password in
 * its error.
 */
export function withoutArguments(text: string): string {
  return text.replaceAll(/,? with args beginning with[^\n]*/gi, "");
}

/**
 * Removes passwords. Errors about addresses quote nothing, but a user may pass an address in place of a name. The
 * placeholder in the forms of addresses stays.
 */
function withoutPasswords(text: string): string {
  return text
    .replaceAll(/:\/\/(?!\[user:password@\])\S*@/g, "://…@")
    .replaceAll(/(^|\s)[^\s:/]*:(?!\/\/)\S+@/g, "$1…@");
}

/** Replaces control characters: values on servers may be anything, and must not control the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}\u2028\u2029]/gu, "\uFFFD");
}

/**
 * Ends the process silently when the reader of its output has gone, as SIGPIPE ends other programs, and with one line
 * when output cannot be written. A lost standard error changes nothing: no command under a lock may end because of it.
 */
export function surviveLostOutput(): void {
  stderr.on("error", () => {});
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(exitCodes.brokenPipe);
    printMessage(`could not write to standard output: ${error.code}`);
    process.exit(exitCodes.output);
  });
}
