import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { UsageError } from "../exit-codes.ts";

/** What a configuration file may say. Options on the command line win over it. */
export interface Config {
  readonly nodes?: readonly string[];
  readonly prefix?: string;
  readonly ttl?: string;
  readonly nodeTimeout?: string;
  readonly restartGuard?: string;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

/** The keys of a configuration file that are paths, seen from its own folder. */
const pathKeys: ReadonlySet<string> = new Set<keyof Config>(["tlsCa", "tlsCert", "tlsKey"]);

const keys: ReadonlySet<string> = new Set<keyof Config>([
  "nodes",
  "prefix",
  "ttl",
  "nodeTimeout",
  "restartGuard",
  ...(pathKeys as ReadonlySet<keyof Config>),
]);

/** Where a configuration is looked for, in this folder and then in those above it. */
const places = ["holdfast.config.json", ".holdfastrc.json", ".holdfastrc", ".config/holdfast.json"];

/**
 * Reads the file that was named, or else the nearest that lies in this folder or above it.
 *
 * @param named the path that was asked for
 * @returns an empty configuration where there is no file
 * @throws {UsageError} naming the file and what is wrong with it, without repeating what it says, which may be a password
 */
export async function readConfig(named: string | undefined): Promise<Config> {
  if (named !== undefined) {
    const path = resolve(named);
    return parseConfig(path, await readText(path));
  }
  const { lilconfig } = await import("lilconfig");
  const searcher = lilconfig("holdfast", {
    searchPlaces: places,
    loaders: { ".json": parseConfig, noExt: parseConfig },
  });
  try {
    const found = await searcher.search();
    return found?.config ?? {};
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`could not read a configuration file: ${(error as Error).message}`);
  }
}

/** @throws {UsageError} when it cannot be read */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`could not read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function parseConfig(path: string, text: string): Config {
  const config = parseObject(path, text);
  const unknown = Object.keys(config).filter((key) => !keys.has(key));
  if (unknown.length > 0) {
    throw new UsageError(`${path} has unknown keys: ${unknown.join(", ")}; known are ${[...keys].join(", ")}`);
  }
  for (const [key, value] of Object.entries(config)) {
    const wanted = key === "nodes" ? "a list of strings" : "a string";
    if (!(key === "nodes" ? isList(value) : typeof value === "string")) {
      throw new UsageError(`${key} in ${path} must be ${wanted}`);
    }
    if (pathKeys.has(key)) config[key] = resolve(dirname(path), value as string);
  }
  return config;
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    // The error's own message repeats a part of the text.
    throw new UsageError(`${path} is not valid JSON`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${path} must be an object with ${[...keys].join(", ")}`);
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
