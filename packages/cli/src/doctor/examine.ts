import type { Server } from "../servers.ts";
import { type CollectOptions, collectFacts } from "./collect.ts";
import { judge } from "./judge.ts";
import type { Level } from "./levels.ts";
import { type Report, reportOf } from "./report.ts";

/** Looks at the servers, and judges what was seen. Ends by itself, whatever they do; it leaves nothing behind on them. */
export async function examine(servers: readonly Server[], options: CollectOptions, required: Level): Promise<Report> {
  const facts = await collectFacts(servers, options);
  return reportOf(facts, judge(facts), required);
}
