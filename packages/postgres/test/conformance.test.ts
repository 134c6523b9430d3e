import { describeLockNode } from "@holdfast/conformance";
import { serverOfFile, subjectsOver } from "./servers.ts";

const server = await serverOfFile();

describeLockNode("postgresNode() over a Pool of pg", { create: subjectsOver(server, "pg") });
