import type { Client } from "./contender.ts";
import { fencedClient } from "./fenced.ts";

/** One script call for each step. */
export function connect(ports: readonly number[]): Promise<Client> {
  return fencedClient(ports, false);
}
