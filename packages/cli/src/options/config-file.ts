import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { UsageError } from "../exit-codes.ts";
import { resolveSqlitePath } from "../servers/sqlite/sqlite-kind.ts";

/** The servers that one source names: as one set, or as the two sets of a change. */
export interface NamedServers {
  readonly node: readonly string[];
  readonly old: readonly string[];
  readonly new: readonly string[];
}

/** The options whose values are text, on the command line and in a file. */
export type TextOptions = Readonly<
  Record<
    "generation" | "prefix" | "ttl" | "node-timeout" | "restart-guard" | "tls-ca" | "tls-cert" | "tls-key",
    string | undefined
  >
>;

/** What a configuration file names. Options on the command line override it. */
export type Config = Partial<NamedServers & TextOptions>;

const list = "a list of strings";
const count = "a non-negative integer";
const text = "a string";

/** What the value of each key must be. */
const shapes: Readonly<Record<string, string>> = {
  ...{ nodes: list, old: list, new: list, generation: count, prefix: text },
  ...{ ttl: text, nodeTimeout: text, restartGuard: text, tlsCa: text, tlsCert: text, tlsKey: text },
};

const keys = Object.keys(shapes);

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

function parseConfig(path: string, content: string): Config {
  const entries = Object.entries(parseObject(path, content));
  const unknown = entries.map(([key]) => key).filter((key) => !keys.includes(key));
  if (unknown.length > 0) {
    throw new UsageError(`${path} has unknown keys: ${unknown.join(", ")}; the known keys are ${keys.join(", ")}`);
  }
  const options = entries.map(([key, value]) => {
    const wanted = shapes[key] as string;
    if (!hasShape(wanted, value)) throw new UsageError(`${key} in ${path} must be ${wanted}`);
    return [optionName(key), optionValue(key, value, dirname(path))];
  });
  return Object.fromEntries(options);
}

/** Returns the name of the option that a key stands for. */
function optionName(key: string): string {
  return key === "nodes" ? "node" : key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Returns a value as the option would have it. Paths in the file are relative to its folder. */
function optionValue(key: string, value: unknown, folder: string): string | readonly string[] {
  if (isList(value)) return value.map((node) => resolveSqlitePath(node, folder));
  return key.startsWith("tls") ? resolve(folder, String(value)) : String(value);
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
