/** What is refused before anything is done, and what is read from where. In this process, as it comes to no more. */
import { mkdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { reapedDirectory } from "@holdfast/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommandLine } from "../src/command-line.ts";
import type { Failure } from "../src/exit-codes.ts";
import { readServerOptions, type ServerArguments } from "../src/options/server-options.ts";
import { runCli } from "./support/program.ts";

const secret = "s3cret@/%";
const nothing = {} as ServerArguments;
const home = process.cwd();
const { HOLDFAST_NODES: outerNodes } = process.env;
beforeEach(() => {
  delete process.env.HOLDFAST_NODES;
  process.chdir(tmpdir());
});
afterEach(() => {
  process.chdir(home);
  if (outerNodes !== undefined) process.env.HOLDFAST_NODES = outerNodes;
});

async function folderWith(files: Readonly<Record<string, unknown>>): Promise<string> {
  const folder = await reapedDirectory();
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

/** What it is refused with: a usage error in one line, without what may be a password. */
async function refusal(call: Promise<unknown>): Promise<string> {
  const failure = await call.then(
    () => undefined,
    (error: Failure) => error,
  );
  expect(failure?.exitCode).toBe(64);
  expect(failure?.message).not.toContain("s3cret");
  expect(failure?.message).not.toContain("\n");
  return failure?.message ?? "";
}

test.each([
  [["frobnicate"], "Unknown argument: frobnicate; see holdfast --help"],
  [[], "Name a command; see holdfast --help"],
  [["run"], "Not enough non-option arguments"],
  [["run", "x", "--memory"], "no command to run: write it after --"],
  [["run", "x", "--memory", "true"], "no command to run: write it after --"],
  [["run", "x", "--memory", "--"], "no command to run: write it after --"],
  [["run", "", "--memory", "--", "true"], "a resource must not be an empty string"],
  [["run", "x", "--memory", "--frob", "--", "true"], "Unknown argument: frob"],
  [["run", "x", "--memory", "--ttl", "--", "true"], "Not enough arguments following: ttl"],
  [
    ["run", "x", "--memory", "--ttl", "30", "--", "true"],
    '--ttl must be a duration such as 500ms, 30s or 2m, not "30"',
  ],
  [["run", "x", "--memory", "--ttl", "1s", "--ttl", "2s", "--", "true"], "--ttl was given 2 times"],
  [
    ["run", "x", "--memory", "--ttl", "100ms", "--node-timeout", "500ms", "--", "true"],
    "--node-timeout must be above 0 and less than --ttl, 100, not 500 (in ms)",
  ],
  [
    ["run", "x", "--memory", "--max-hold", "1s", "--", "true"],
    "--max-hold must be at least --ttl, 30000, not 1000 (in ms)",
  ],
  [["run", "x", "--memory", "--label", "", "--", "true"], "--label must be 1 to 100 printable characters"],
  [["run", "x", "--memory", "--wait", "1s", "--no-wait", "--", "true"], "mutually exclusive"],
  [
    ["run", "x", "--memory", "-E", "256", "--", "true"],
    '--conflict-exit-code must be a number from 0 to 255, not "256"',
  ],
  [["run", "x", "--memory", "-E", "-1", "--", "true"], "conflict-exit-code"],
  [["run", "x", "--memory", "--conflict-exit-code", "1.5", "--", "true"], 'not "1.5"'],
  [["run", "x", "--memory", "-E", "1", "-E", "2", "--", "true"], "--conflict-exit-code was given 2 times"],
  [["run", "help", "--memory", "--", "true"], '"help" asks for help'],
  [["run", "x", "-", "--memory", "--", "true"], '"-" is no resource'],
  [["run", "x", "--memory", "--node", "redis://a", "--", "true"], "mutually exclusive"],
  [["inspect", "x", "--memory", "--interval", "1s"], "interval -> watch"],
  [["inspect", "x", "--memory", "--watch", "--interval", "0"], "--interval must be longer than 0"],
  [["inspect", "x", "--node", "redis://a.invalid", "--node", "redis://a.invalid"], "a.invalid:6379 was named twice"],
  [["inspect", "x", "--node", "redis://a.invalid", "--node", `redis://:${secret}`], "node 2 of --node is no"],
  [["inspect", "x", "--node", "redis://a.invalid", "--prefix", "holdfast:fence:"], "--prefix must not begin with"],
  [["inspect", "x", "--node", "redis://a.invalid", "--tls-ca", "none.pem"], "could not read none.pem: ENOENT"],
  [["list", "--memory"], "--memory has no servers to search"],
  [["list", "--node", "redis://a.invalid", "--limit", "0"], '--limit must be a number from 1 to 100000, not "0"'],
  [["list", "--node", "redis://a.invalid", "--timeout", "10"], "--timeout must be a duration"],
  [["release", "x", "--memory"], "Missing required argument: owner"],
])("holdfast %j is refused", async (args, why) => {
  expect(await refusal(runCommandLine(args))).toContain(why);
});

test("what is refused is told in one line, with 64, and without an address that stands where it should not", async () => {
  const outcome = await runCli(["inspect", "x", "redis://:s3cret@127.0.0.1", "--memory"]);
  const err = "holdfast: Unknown argument: redis://…@127.0.0.1; see holdfast --help\n";
  expect(outcome).toEqual({ code: 64, out: "", err });
});

test.each([
  ["run", "x", "--", "true"],
  ["inspect", "x"],
  ["release", "x", "--owner", "y"],
])("holdfast %s without servers says how to name them", async (...args) => {
  expect(await refusal(runCommandLine(args))).toMatch(
    /^no lock servers: name them with --node .* HOLDFAST_NODES.* holdfast\.config\.json.* --memory$/,
  );
});

test.each(["holdfast.config.json", ".holdfastrc.json", ".holdfastrc", ".config/holdfast.json"])(
  "readServerOptions() finds %s in the folders above",
  async (name) => {
    const folder = await folderWith({ [name]: { nodes: ["a:1", "rediss://b:2"], ttl: "1m" }, "below/it/file": "" });
    process.chdir(join(folder, "below/it"));
    expect(await readServerOptions(nothing, {})).toEqual({
      memory: false,
      addresses: [
        { host: "a", port: 1, isTls: false, db: 0 },
        { host: "b", port: 2, isTls: true, db: 0 },
      ],
      tls: {},
      ...{ prefix: "lock:", ttlMs: 60_000, nodeTimeoutMs: undefined, restartGuardMs: 0 },
    });
  },
);

test("readServerOptions() prefers the command line to HOLDFAST_NODES, and that to the file", async () => {
  process.chdir(await folderWith({ "holdfast.config.json": { nodes: ["file"], prefix: "file:", ttl: "1m" } }));
  const hosts = async (args: ServerArguments, env: NodeJS.ProcessEnv): Promise<unknown[]> => {
    const { addresses, prefix, ttlMs } = await readServerOptions(args, env);
    return [...addresses.map(({ host }) => host), prefix, ttlMs];
  };
  const env = { HOLDFAST_NODES: " env-a, redis://env-b\nenv-c " };
  expect(await hosts(nothing, { HOLDFAST_NODES: " " })).toEqual(["file", "file:", 60_000]);
  expect(await hosts(nothing, env)).toEqual(["env-a", "env-b", "env-c", "file:", 60_000]);
  expect(await hosts({ ...nothing, node: ["flag"], ttl: "2s" }, env)).toEqual(["flag", "file:", 2_000]);
});

test("readServerOptions() needs no servers with --memory", async () => {
  const env = { HOLDFAST_NODES: "somewhere" };
  expect(await readServerOptions({ ...nothing, memory: true }, env)).toMatchObject({ memory: true, addresses: [] });
});

test.each([
  ["is not valid JSON", `redis://:${secret}`],
  ["must be an object with nodes, prefix", [`redis://:${secret}`]],
  ["has unknown keys: nods, timeout; known are nodes, prefix", { nods: [], timeout: 1 }],
  ["must be a list of strings", { nodes: `redis://:${secret}` }],
  ["must be a string", { nodes: [], ttl: 30 }],
])("readServerOptions() says that a configuration file %s, and names it", async (why, content) => {
  const folder = await folderWith({ "holdfast.config.json": content, "other.conf": content });
  process.chdir(folder);
  for (const config of [undefined, "other.conf"]) {
    const message = await refusal(readServerOptions({ ...nothing, config }, {}));
    expect(message).toContain(why);
    expect(message).toContain(join(folder, config ?? "holdfast.config.json"));
  }
});

test("readServerOptions() says that a named configuration file is not there", async () => {
  const message = await refusal(readServerOptions({ ...nothing, config: "none.json" }, {}));
  expect(message).toMatch(/^could not read \S+none\.json: ENOENT$/);
});
