import type { BrokenNode } from "./broken-node.ts";
import { brokenClaims } from "./claims.ts";
import { brokenFences } from "./fences.ts";
import { brokenLimits } from "./limits.ts";
import { brokenReplies } from "./replies.ts";
import { brokenTimes } from "./times.ts";
import { brokenWakeUps } from "./wake-ups.ts";

/** All broken nodes. To add one, put it into the list of its topic: what is wrong, which test sees it, how it is made. */
export const brokenNodes: readonly BrokenNode[] = [
  ...brokenReplies,
  ...brokenClaims,
  ...brokenFences,
  ...brokenTimes,
  ...brokenWakeUps,
  ...brokenLimits,
];
