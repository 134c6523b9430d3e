import type { RedisNode, RedisNodeOptions } from "../src/index.ts";
import type { ClientUnderTest } from "./adapter-tools.ts";
import { eventually } from "./requests.ts";

let prefixes = 0;

/**
 * Makes what the conformance suite asks for: two clients of a part of the server that nobody else uses.
 *
 * @param make makes a client
 * @param prefix makes a prefix out of a number; on a cluster it must keep all keys in one slot
 */
export function subjectsOver(
  make: (options: RedisNodeOptions) => ClientUnderTest,
  prefix: (number: number) => string = (number) => `test ${number}:`,
): () => Promise<{ node: RedisNode; rival: RedisNode; close(): Promise<void> }> {
  return async () => {
    const options = { prefix: prefix(prefixes++) };
    const clients = [make(options), make(options)] as const;
    await eventually(async () => {
      for (const { node } of clients) await node.inspect("warm-up");
    });
    return {
      node: clients[0].node,
      rival: clients[1].node,
      async close() {
        for (const { node, close } of clients) {
          await node.close();
          close();
        }
      },
    };
  };
}
