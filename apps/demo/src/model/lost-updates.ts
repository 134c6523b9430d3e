import type { Model } from "./model.ts";

/** How many increments the counters are known not to show. */
export function lostUpdates({ resources }: Model): number {
  return resources.reduce((sum, resource) => sum + resource.lostUpdates, 0);
}
