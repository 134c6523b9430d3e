import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { UsageError } from "../exit-codes.ts";

/**
 * Asks a person. Only a clear yes is one; no answer (Ctrl-C, Ctrl-D) is none.
 *
 * @throws {UsageError} where there is no terminal to ask at
 */
export async function confirm(question: string): Promise<boolean> {
  if (!(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new UsageError("nobody can be asked without a terminal: add --yes to release it");
  }
  const reader = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const silence = once(reader, "close").then(() => "");
    const answer = await Promise.race([reader.question(`${question} [y/N] `).catch(() => ""), silence]);
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    reader.close();
  }
}
