import type { BrokenNode } from "./broken-node.ts";
import { brokenClaims } from "./claims.ts";
import { brokenCloses } from "./close.ts";
import { brokenFences } from "./fences.ts";
import { brokenFloors } from "./floor.ts";
import { brokenKeptClaims } from "./kept-claims.ts";
import { brokenLimits } from "./limits.ts";
import { brokenNames } from "./names.ts";
import { brokenOutages } from "./outages.ts";
import { brokenReplies } from "./replies.ts";
import { brokenScans } from "./scan.ts";
import { brokenSharing } from "./sharing.ts";
import { brokenSizes } from "./sizes.ts";
import { brokenTimes } from "./times.ts";
import { brokenTurns } from "./turns.ts";
import { brokenWaitingLists } from "./waiting-lists.ts";
import { brokenWakeUps } from "./wake-ups.ts";

/** All broken nodes that the suite is known to catch. Add new ones to the list of their topic. */
export const brokenNodes: readonly BrokenNode[] = [
  ...brokenReplies,
  ...brokenClaims,
  ...brokenFences,
  ...brokenTimes,
  ...brokenSharing,
  ...brokenFloors,
  ...brokenScans,
  ...brokenNames,
  ...brokenWakeUps,
  ...brokenWaitingLists,
  ...brokenTurns,
  ...brokenCloses,
  ...brokenOutages,
  ...brokenKeptClaims,
  ...brokenSizes,
  ...brokenLimits,
];
