import { clientNemeses } from "./clients.ts";
import { clockNemeses } from "./clocks.ts";
import { crashNemeses } from "./crashes.ts";
import type { Nemesis } from "./nemesis.ts";
import { networkNemeses } from "./network.ts";
import { serverNemeses } from "./servers.ts";

/** All nemeses. */
export const nemeses: readonly Nemesis[] = [
  ...clientNemeses,
  ...serverNemeses,
  ...networkNemeses,
  ...crashNemeses,
  ...clockNemeses,
];
