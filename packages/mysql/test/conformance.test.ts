import { describeLockNode } from "@holdfast/conformance";
import { serverOfFile, subjectsOver } from "./servers.ts";

const server = await serverOfFile();

describeLockNode("mysqlNode() over a pool of mysql2/promise", { create: subjectsOver(server) });
