import { describeLockNode } from "@holdfast/conformance";
import { repetition } from "@holdfast/testkit";
import { serverOfFile, subjectsOver } from "./servers.ts";

const server = await serverOfFile();

describeLockNode("postgresNode() over a Pool of pg", { repetition, create: subjectsOver(server, "pg") });
