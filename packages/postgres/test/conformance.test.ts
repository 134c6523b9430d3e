import { describeLockNode } from "@holdfast/conformance";
import { serverOfFile, subjectOver } from "./servers.ts";

const server = await serverOfFile();

describeLockNode("postgresNode() over a Pool of pg", { create: () => subjectOver(server, "pg") });
