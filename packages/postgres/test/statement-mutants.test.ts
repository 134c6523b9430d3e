import pg from "pg";
import { expect, test } from "vitest";
import { statementsOver } from "../src/statements.ts";
import { freshTable, serverOfFile } from "./servers.ts";
import { mutants } from "./statement-mutants.ts";

const server = await serverOfFile();

test("each fault changes a statement, and leaves statements that the server accepts", async () => {
  const table = await freshTable(server.connectionString);
  const client = new pg.Client(server.connectionString);
  await client.connect();
  const texts = Object.values(statementsOver(`"public"."${table}"`, "channel")).map(({ text }) => text);
  const refused: string[] = [];
  for (const { fault, from, to } of mutants) {
    const changed = texts.map((text) => text.replaceAll(from, to)).filter((text) => !texts.includes(text));
    if (changed.length === 0) refused.push(`${fault}: nothing changed`);
    for (const text of changed) {
      const prepared = client.query(`PREPARE mutant AS ${text}`).then(() => client.query("DEALLOCATE mutant"));
      await prepared.catch(({ message }) => refused.push(`${fault}: ${message}`));
    }
  }
  await client.end();
  expect(refused).toEqual([]);
});
