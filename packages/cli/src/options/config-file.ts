import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { UsageError } from "../exit-codes.ts";
import { resolveSqlitePath } from "../servers/sqlite/sqlite-kind.ts";

/** The content of a configuration file. Options on the command line override it. */
export interface Config {
  readonly nodes?: readonly string[];
  readonly old?: readonly string[];
  readonly new?: readonly string[];
  readonly generation?: number;
  readonly prefix?: string;
  readonly ttl?: string;
  readonly nodeTimeout?: string;
  readonly restartGuard?: string;
  readonly tlsCa?: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
}

const list = "a list of strings";
const count = "a non-negative integer";
const text = "a string";

/** What the value of each key must be. */
const shapes: Readonly<Record<keyof Config, string>> = {
  ...{ nodes: list, old: list, new: list, generation: count, prefix: text },
  ...{ ttl: text, nodeTimeout: text, restartGuard: text, tlsCa: text, tlsCert: text, tlsKey: text },
};

const keys = Object.keys(shapes);

/** The keys whose values are paths, relative to the folder of the file. */
const pathKeys: readonly string[] = ["tlsCa", "tlsCert", "tlsKey"];

/** The files to search for, in the working directory and then in its parents. */
const places = ["holdfast.config.json", ".holdfastrc.json", ".holdfastrc", ".config/holdfast.json"];

/**
 * Reads the named file, otherwise the nearest one in the working directory or its parents.
 *
 * @param named the path from `--config`
 * @returns an empty configuration if there is no file
 * @throws {UsageError} naming the file and the problem, without quoting the content, which may include a password
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

/** @throws {UsageError} if the file cannot be read */
export async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new UsageError(`could not read ${path}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function parseConfig(path: string, text: string): Config {
  const config = parseObject(path, text);
  const unknown = Object.keys(config).filter((key) => !keys.includes(key));
  if (unknown.length > 0) {
    throw new UsageError(`${path} has unknown keys: ${unknown.join(", ")}; the known keys are ${keys.join(", ")}`);
  }
  for (const [key, value] of Object.entries(config)) {
    const wanted = shapes[key as keyof Config];
    if (!hasShape(wanted, value)) throw new UsageError(`${key} in ${path} must be ${wanted}`);
    if (pathKeys.includes(key)) config[key] = resolve(dirname(path), value as string);
    if (isList(value)) config[key] = value.map((node) => resolveSqlitePath(node, dirname(path)));
  }
  return config;
}

function parseObject(path: string, text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch {
    // The error's own message quotes a part of the text.
    throw new UsageError(`${path} is not valid JSON`);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${path} must be an object with ${keys.join(", ")}`);
}

function hasShape(shape: string, value: unknown): boolean {
  if (shape === list) return isList(value);
  return shape === count ? Number.isSafeInteger(value) && Number(value) >= 0 : typeof value === "string";
}

function isList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}
