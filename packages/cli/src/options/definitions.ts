/** Parts of the definitions of options for yargs. */
import type { Options } from "yargs";

/** An option with a value. */
export const text = { type: "string", requiresArg: true } as const;

/** The option of commands that report. */
export const json: Options = { type: "boolean", describe: "Print one line of JSON" };
