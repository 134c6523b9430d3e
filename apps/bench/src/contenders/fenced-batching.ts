import type { Client } from "./contender.ts";
import { fencedClient } from "./fenced.ts";

/** One script call for all steps of one tick. */
export function connect(ports: readonly number[]): Promise<Client> {
  return fencedClient(ports, true);
}
