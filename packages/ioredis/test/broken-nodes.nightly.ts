import { type BrokenNode, brokenNodes, describeBrokenNodes, type LockNodeSubject } from "@holdfast/conformance";
import { subjectsOver } from "@holdfast/redis-testkit/subjects";
import { startRedisServer } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { ioredisNode } from "../src/index.ts";
import { over6, rival } from "./clients.ts";

const server = await startRedisServer();
afterAll(() => server.stop());

const leaked: Redis[] = [];

const leakySubjects = subjectsOver(server.port, (port) => {
  const right = over6({ port });
  return {
    ...right,
    openNode: (options) => ({
      ...right.openNode(options),
      async acquire(request) {
        const client = new Redis({ port, lazyConnect: true });
        leaked.push(client);
        await client.connect();
        return ioredisNode(client, options).acquire(request);
      },
    }),
  };
});

/** Creates a subject that opens a client for each claim and never closes it. */
async function leakySubject(): Promise<LockNodeSubject> {
  const subject = await leakySubjects();
  return {
    ...subject,
    async close() {
      for (const client of leaked.splice(0)) client.disconnect();
      await subject.close();
    },
  };
}

const leak: BrokenNode = {
  fault: "opens a connection for each claim, and never closes it",
  caughtBy: "calls that are granted, denied, resent or rejected leave no connection open",
  needs: ["server"],
  create: leakySubject,
};

// The others do not need a real server: the tests of the suite run them in memory.
describeBrokenNodes("ioredisNode() over a real server that can be out of reach", {
  create: subjectsOver(server.port, (port) => over6({ port }), rival("over6")),
  brokenNodes: [
    leak,
    ...brokenNodes.filter(({ needs }) => needs?.includes("server") || needs?.includes("otherProcess")),
  ],
});
