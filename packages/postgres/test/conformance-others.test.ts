import { describeLockNode, essentialTests } from "@holdfast/conformance";
import { isNightly, repetition } from "@holdfast/testkit";
import { startPgBouncer } from "@holdfast/testkit/pgbouncer";
import { afterAll } from "vitest";
import { serverOfFile, subjectsOver } from "./servers.ts";

const server = await serverOfFile();
const bouncer = await startPgBouncer(server, { poolMode: "transaction", poolSize: 20 });
afterAll(() => bouncer.stop());

describeLockNode("postgresNode() over postgres.js", {
  ...(isNightly ? {} : { only: essentialTests }),
  repetition,
  create: subjectsOver(server, "postgres.js"),
});
describeLockNode("postgresNode() over a Pool of pg and PgBouncer in transaction mode", {
  repetition,
  create: subjectsOver(server, "pg", bouncer.port),
});
