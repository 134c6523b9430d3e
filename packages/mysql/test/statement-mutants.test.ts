import mysql from "mysql2/promise";
import { expect, test } from "vitest";
import { statementsOver } from "../src/statements.ts";
import { freshTable, serverOfFile } from "./servers.ts";
import { mutants } from "./statement-mutants.ts";

const server = await serverOfFile();

test("each fault changes a statement, and leaves statements that the server accepts", async () => {
  const { begin, change, extendOne, releaseOne, raise, scan } = statementsOver(`\`${await freshTable(server.uri)}\``);
  const name = Buffer.from("r");
  const entry = { resource: "r", owner: null, untilUs: 0, fence: 1, sharers: null, favoursUntilUs: 0, version: 1 };
  const changes = [{ before: { ...entry, name, rows: 2 }, after: { ...entry, owner: "a", untilUs: 2, fence: 2 } }];
  const floor = { floor: 1, epoch: 1 };
  const texts = [
    ...[begin(changes, floor), change(changes, floor), change(changes, undefined)],
    ...[extendOne(name, "a", 1, 1), releaseOne(name, "a"), raise(floor), scan(name)],
  ];
  const connection = await mysql.createConnection(server.uri);
  const refused: string[] = [];
  for (const { fault, from, to } of mutants) {
    const changed = texts.map((text) => text.replaceAll(from, to)).filter((text) => !texts.includes(text));
    if (changed.length === 0) refused.push(`${fault}: nothing changed`);
    for (const text of changed) {
      await connection.query("SET @mutant = ?", [text]);
      await connection
        .query("PREPARE mutant FROM @mutant")
        .catch(({ message }) => refused.push(`${fault}: ${message}`));
    }
  }
  await connection.end();
  expect(refused).toEqual([]);
});
