import { brokenClaims } from "./claims.ts";
import { brokenFences } from "./fences.ts";
import { brokenLimits } from "./limits.ts";
import { brokenLines } from "./lines.ts";
import { type Mistake, mistakeOf } from "./mistake.ts";
import { brokenNames } from "./names.ts";
import { brokenOutages } from "./outages.ts";
import { brokenReplies } from "./replies.ts";
import { brokenTimes } from "./times.ts";
import { brokenWakeUps } from "./wake-ups.ts";

/** All mistakes that the suite is known to catch. To add one, put it into the list of its topic. */
export const mistakes: readonly Mistake[] = [
  ...brokenReplies,
  ...brokenClaims,
  ...brokenFences,
  ...brokenTimes,
  ...brokenNames,
  ...brokenWakeUps,
  ...brokenLines,
  ...brokenOutages,
  ...brokenLimits,
].map(mistakeOf);
