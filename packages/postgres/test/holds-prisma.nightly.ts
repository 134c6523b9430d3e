/** `holds` in a transaction of Prisma, which is installed in a folder of its own: its command line weighs 300 MB. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import type { RunStatement } from "@holdfast/postgres";
import { reapedDirectory } from "@holdfast/testkit";
import { test } from "vitest";
import { expectHolds } from "./holds-in-library.ts";
import { serverOfFile } from "./servers.ts";

const version = "7.10.0";
const schema = `
  generator client {
    provider = "prisma-client"
    output   = "./generated"
  }
  datasource db {
    provider = "postgresql"
  }
  model Invoice {
    id Int @id
  }`;

/** The part of a client, or of its transaction, that runs statements. */
interface Raw {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown[]>;
}

const over =
  (client: Raw): RunStatement =>
  (text, values) =>
    client.$queryRawUnsafe(text, ...values);

test("holds(), fenced() and registerRead() work in a transaction of Prisma, and are refused outside of one", async () => {
  const { connectionString } = await serverOfFile();
  const folder = await reapedDirectory();
  await writeFile(join(folder, "schema.prisma"), schema);
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const packages = ["prisma", "@prisma/client", "@prisma/adapter-pg"].map((name) => `${name}@${version}`);
  // The engine that is not to be downloaded only compares schemas with databases.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  const run = (command: string, ...args: string[]) => promisify(execFile)(command, args, { cwd: folder, env });
  await run("npm", "install", "--no-audit", "--no-fund", ...packages);
  await run("node_modules/.bin/prisma", "generate", "--schema", "schema.prisma");

  const load = (path: string) => import(pathToFileURL(join(folder, path)).href);
  const { PrismaClient } = await load("generated/client.ts");
  const { PrismaPg } = await load("node_modules/@prisma/adapter-pg/dist/index.mjs");
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) });
  await expectHolds(
    {
      inTransaction: (call, lock) => prisma.$transaction((tx: Raw) => call(over(tx), lock)),
      outside: (call, lock) => call(over(prisma), lock),
      end: () => prisma.$disconnect(),
    },
    connectionString,
  );
}, 600_000);
