import type { Diagnosis } from "../../src/doctor/judge.ts";
import { examineServers, type LabOptions } from "./lab.ts";

/** Servers that show a finding. */
export interface Situation {
  readonly code: string;
  /** The description of the servers. */
  readonly how: string;
  /** The other findings about them. */
  readonly also: readonly string[];
  /** Starts the servers, and examines them. */
  examine(): Promise<Diagnosis>;
}

/** Returns a situation of several servers, at these addresses. */
export function several(
  code: string,
  how: string,
  also: readonly string[],
  start: () => Promise<readonly string[]>,
  options?: LabOptions,
): Situation {
  return { code, how, also, examine: async () => examineServers(await start(), options) };
}

/** Returns a situation of one server. */
export function one(
  code: string,
  how: string,
  start: () => Promise<string>,
  more: readonly string[] = [],
  options?: LabOptions,
): Situation {
  return several(code, how, ["single-server", ...more], async () => [await start()], options);
}
