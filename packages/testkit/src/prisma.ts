/** Installs Prisma in a folder of its own: its command line weighs 300 MB. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { reapedDirectory } from "./reaper.ts";

const version = "7.10.0";

/** A client of Prisma. */
export interface Prisma extends PrismaRaw {
  $transaction<Result>(work: (transaction: PrismaRaw) => Promise<Result>): Promise<Result>;
  $disconnect(): Promise<void>;
}

/** The part of a client, or of its transaction, that runs statements. */
export interface PrismaRaw {
  $queryRawUnsafe(text: string, ...values: unknown[]): Promise<unknown[]>;
}

/** The databases, each with the package and the class of its driver, which is made with these options. */
const drivers = {
  postgresql: { name: "@prisma/adapter-pg", adapter: "PrismaPg" },
  mysql: { name: "@prisma/adapter-mariadb", adapter: "PrismaMariaDb" },
} as const;

/** Generates a client for one table, and opens it with the options of its driver. Loads Prisma from the registry. */
export async function openPrisma(provider: keyof typeof drivers, options: unknown): Promise<Prisma> {
  const { name, adapter } = drivers[provider];
  const folder = await reapedDirectory();
  const schema = `
    generator client {
      provider = "prisma-client"
      output   = "./generated"
    }
    datasource db {
      provider = "${provider}"
    }
    model Invoice {
      id Int @id
    }`;
  await writeFile(join(folder, "schema.prisma"), schema);
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const packages = ["prisma", "@prisma/client", name].map((each) => `${each}@${version}`);
  // The engine that is not to be downloaded only compares schemas with databases.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath };
  const run = (command: string, ...args: string[]) => promisify(execFile)(command, args, { cwd: folder, env });
  await run("npm", "install", "--no-audit", "--no-fund", ...packages);
  await run("node_modules/.bin/prisma", "generate", "--schema", "schema.prisma");

  const load = (path: string) => import(pathToFileURL(join(folder, path)).href);
  const { PrismaClient } = await load("generated/client.ts");
  const { [adapter]: Adapter } = await load(`node_modules/${name}/dist/index.mjs`);
  return new PrismaClient({ adapter: new Adapter(options) });
}
