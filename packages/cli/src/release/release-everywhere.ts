import type { LockNode } from "@holdfast/core";
import { within } from "../within.ts";

/** What one node said to a release. */
export interface Release {
  readonly node: string;
  /** Whether it held the lock for the owner, and has freed it; undefined if it did not answer. */
  readonly released: boolean | undefined;
  readonly error: Error | undefined;
}

/** Asks all nodes to free what one owner holds there, and nothing that another owner holds. */
export async function releaseEverywhere(
  nodes: readonly LockNode[],
  resource: string,
  owner: string,
  timeoutMs: number,
): Promise<readonly Release[]> {
  const request = { resources: [resource], owner, timeoutMs };
  return Promise.all(
    nodes.map(async (node): Promise<Release> => {
      try {
        const { released } = await within(timeoutMs, node.release(request));
        return { node: node.name, released, error: undefined };
      } catch (error) {
        return { node: node.name, released: undefined, error: error as Error };
      }
    }),
  );
}
