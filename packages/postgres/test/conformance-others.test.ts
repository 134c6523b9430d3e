import { describeLockNode } from "@holdfast/conformance";
import { serverOfFile, subjectOver } from "./servers.ts";

const server = await serverOfFile();

describeLockNode("postgresNode() over postgres.js", { create: () => subjectOver(server, "postgres.js") });
