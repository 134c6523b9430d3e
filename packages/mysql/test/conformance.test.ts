import { describeLockNode, essentialTests } from "@holdfast/conformance";
import { isNightly, repetition } from "@holdfast/testkit";
import mysql from "mysql2/promise";
import { mysqlNode } from "../src/index.ts";
import { freshTable, rivalModule, serverOfFile, subjectsOver } from "./servers.ts";

const server = await serverOfFile();

describeLockNode("mysqlNode() over a pool of mysql2/promise", {
  ...(isNightly ? {} : { only: essentialTests }),
  repetition,
  create: subjectsOver(server),
});
// Nightly: a connection and a pool of the same client differ only in how often they connect.
if (isNightly)
  describeLockNode("mysqlNode() over a connection of mysql2/promise", {
    noServer: "a connection of mysql2 does not connect again",
    create: async () => {
      const options = { table: await freshTable(server.uri) };
      const connections = await Promise.all([server.uri, server.uri].map((uri) => mysql.createConnection(uri)));
      const [node, rival] = connections.map((connection) => mysqlNode(connection, options));
      if (node === undefined || rival === undefined) throw new Error("two nodes");
      return {
        node,
        rival,
        rivalModule: await rivalModule({ uri: server.uri, ...options }),
        close: async () => {
          await Promise.all(connections.map((connection) => connection.end()));
        },
      };
    },
  });
