/** Usage errors, and the sources of options. Runs in this process, because nothing is started. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runCommandLine } from "../src/command-line.ts";
import type { Failure } from "../src/exit-codes.ts";
import { readServerOptions, type ServerArguments } from "../src/options/server-options.ts";
import type { RedisAddress } from "../src/servers/redis/redis-address.ts";
import { redisKind } from "../src/servers/redis/redis-kind.ts";
import { folderWith } from "./support/folder.ts";
import { runCli, runProcess } from "./support/program.ts";

const secret = "s3cret@/%";
const nothing = {};
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

/** Returns the message of a usage error, which has one line, and no password. */
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
  ["lsit", "Did you mean list? See holdfast --help"],
  ["frobnicate", "Unknown argument: frobnicate; see holdfast --help"],
  ["-h", "Name a command before its options; see holdfast --help"],
  ["--node redis://:s3cret@a run x -- true", "Name a command before its options; see holdfast --help"],
  ["run", "no resource to lock: name it, as in run backup -- ./backup.sh, or pass --ticket"],
  ["run x --memory", "no command to run: write it after --"],
  ["run x --memory --", "no command to run: write it after --"],
  ["run x --memory --ttl 30 -- true", '--ttl must be a duration such as 500ms, 30s or 2m, not "30"'],
  ["run x --memory --ttl 1s --ttl 2s -- true", "--ttl was given 2 times"],
  [
    "run x --memory --ttl 100ms --node-timeout 500ms -- true",
    "--ttl must be above --node-timeout, 500, not 100 (in ms)",
  ],
  ["run x --memory --max-hold 1s -- true", "--max-hold must be at least --ttl, 30000, not 1000 (in ms)"],
  ["run x --memory -E 256 -- true", '--conflict-exit-code must be a number from 0 to 255, not "256"'],
  ["run x --memory --conflict-exit-code 1.5 -- true", 'not "1.5"'],
  ["run x --memory -E 1 -E 2 -- true", "--conflict-exit-code was given 2 times"],
  ["run x --memory --node redis://a -- true", "mutually exclusive"],
  ["inspect x --memory --interval 1s", "interval -> watch"],
  ["inspect x --memory --watch --interval 0", "--interval must be longer than 0"],
  ["inspect x --node redis://a.invalid --node redis://a.invalid", "a.invalid:6379 was named twice"],
  [`inspect x --node redis://a.invalid --node redis://:${secret}`, "node 2 of --node is not"],
  ["inspect x --node redis://a.invalid --prefix holdfast:fence:", "--prefix must not begin with"],
  ["inspect x --node redis://a.invalid --tls-ca none.pem", "could not read none.pem: ENOENT"],
  ["inspect x --env-file /none.env", "could not read /none.env: ENOENT"],
  [
    "inspect x",
    "no lock servers: name them with --node redis://host:6379 (once for each), or in HOLDFAST_NODES; or use --memory to " +
      "try it without servers",
  ],
  ["inspect x --old a.invalid", "--old and --new go together"],
  ["inspect x --old a.invalid --new b.invalid --node c.invalid", "name the servers in --node, or in"],
  ["inspect x --old a.invalid --new a.invalid --new a.invalid", "two are called a.invalid:6379"],
  ["inspect x --node a.invalid --generation=-1", '--generation must be a non-negative integer, not "-1"'],
  ["inspect x --node a.invalid --generation 1.5", '--generation must be a non-negative integer, not "1.5"'],
  ["inspect x --node a.invalid --generation 1 --generation 2", "--generation was given 2 times"],
  ["inspect x --memory --old a.invalid --new b.invalid", "mutually exclusive"],
  ["migrate join --node a.invalid", "--old and --new, once for each server"],
  ["migrate leave --old a.invalid --new b.invalid", "Choices"],
  ["guard --table t --column c --mode=", 'Given: "", Choices: warn, refuse'],
  ["migrate join --old a.invalid --new b.invalid --watch-for 0", "--watch-for must be longer"],
  ["heal x --memory", "--memory has no servers to heal"],
  ["heal --node a.invalid", "Not enough non-option arguments"],
  ["list --memory", "--memory has no servers to search"],
  ["list --node redis://a.invalid --limit 0", '--limit must be a number from 1 to 100000, not "0"'],
  ["list --node redis://a.invalid --timeout 10", "--timeout must be a duration"],
  ["release x --memory", "Missing required argument: owner"],
  ["run --memory --ticket s3cret -- true", "--ticket must be a text that lock.transfer() returned"],
  ["run x --memory --ticket s3cret -- true", "--ticket names the resources: leave them out"],
  ["run --memory --ticket s3cret --shared -- true", "Arguments ticket and shared are mutually exclusive"],
  ["run x --memory --shared --permits 1/2 -- true", "Arguments shared and permits are mutually exclusive"],
  ["run x y --memory --permits 1/5 -- true", "--permits takes one semaphore, not 2"],
  ...["5", "0/5", "6/5", "1/0", "1/10001", "a/b", "1/5/6"].map((wrong): [string, string] => {
    return [`run x --memory --permits ${wrong} -- true`, "--permits must be n/k"];
  }),
  ["lead x --memory", "no command to run: write it after --, as in lead scheduler -- ./scheduler"],
  ["lead x y --memory -- true", "Unknown argument: y"],
  ["lead x --memory --wait 1s -- true", "Unknown argument: wait"],
  ["lead x --memory --ttl 3s --max-hold 1s -- true", "--max-hold must be at least --ttl, 3000"],
  ...["seven", "0", "1.5", "99999999999999999999"].map((wrong): [string, string] => {
    return [`verify x me ${wrong} --memory`, "a fence must be a positive integer below 2^53"];
  }),
  ["doctor --memory", "--memory has no servers to inspect"],
  ["doctor --node a.invalid --require perfection", 'Given: "perfection"'],
  ["doctor --node a.invalid --ttl 100ms --node-timeout 1s", "--node-timeout"],
  ["check x --clocks-differ 5", "--clocks-differ must be a duration"],
  ["create-table --node a.invalid", "none of the servers needs a table"],
  ["guard --column lock", "name the tables to guard with --table"],
  ["guard --table a", "name the lock of each row with one of --column, --name and --expression"],
  ["guard --table a --column b --name c", "with one of --column, --name and --expression"],
  ["guard --table a.b.c --name c", '--table must be a name or schema.name, not "a.b.c"'],
  ["guard --table a --name c --remove", "mutually exclusive"],
  ["guard --table a --name c --check", "mutually exclusive"],
  ["guard --table a --name c --json", "json -> check"],
  ["guard --table a --name b --name c", "--name was given 2 times"],
  ["guard --check --node a.invalid", "name one database with --node postgres://"],
  ["guard --check --node postgres://a.invalid/b --node postgres://a.invalid/c", "name one database with --node"],
])("holdfast %s is a usage error", async (line, why) => {
  expect(await refusal(runCommandLine(line.split(" ")))).toContain(why);
});

test.each([
  [[], "Name a command; see holdfast --help"],
  [["run", "", "--memory", "--", "true"], "a resource must not be an empty string"],
  [["run", "x", "--memory", "--label", "", "--", "true"], "--label must be 1 to 100 printable characters"],
  [["lead", "x", "--memory", "--label", "\n", "--", "true"], "--label must be 1 to 100 printable characters"],
  [["guard", "--table", "", "--name", "c"], "table must have 1 to 63 bytes"],
])("holdfast %j is a usage error", async (args, why) => {
  expect(await refusal(runCommandLine(args))).toContain(why);
});

test("holdfast reports a usage error in one line with 64, and shows no password of a misplaced address", async () => {
  const outcome = await runProcess(["inspect", "x", "redis://:s3cret@127.0.0.1", "--memory"]);
  const err = "holdfast: Unknown argument: redis://…@127.0.0.1; see holdfast --help\n";
  expect(outcome).toEqual({ code: 64, out: "", err });
});

test("holdfast shows the whole form of an address in a usage error, and no password", async () => {
  const { code, err } = await runCli(["inspect", "x", "--node", "etcd://me:s3cret@a?b=c"]);
  expect({ code, err }).toEqual({ code: 64, err: expect.stringContaining("etcd://[user:password@]host[:port]") });
  expect(err).not.toContain("s3cret");
});

test("readServerOptions() takes all options from the environment", async () => {
  const variables = { HOLDFAST_NODES: "a:1 rediss://b:2", HOLDFAST_TTL: "1m", HOLDFAST_NODE_TIMEOUT: "2s" };
  expect(await readServerOptions(nothing, { ...variables, HOLDFAST_PREFIX: "", HOLDFAST_RESTART_GUARD: "3m" })).toEqual(
    {
      memory: false,
      addresses: [
        { kind: redisKind, where: { host: "a", port: 1, isTls: false, db: 0 } },
        { kind: redisKind, where: { host: "b", port: 2, isTls: true, db: 0 } },
      ],
      tls: {},
      ...{ joint: undefined, generation: 0 },
      ...{ prefix: "", ttlMs: 60_000, nodeTimeoutMs: 2_000, restartGuardMs: 180_000 },
    },
  );
});

test("readServerOptions() prefers the command line to HOLDFAST_NODES, and HOLDFAST_NODES to --env-file", async () => {
  const content = "HOLDFAST_NODES=file\nHOLDFAST_PREFIX=file:\nHOLDFAST_TTL=1m\nOTHER=x";
  const file = join(await folderWith({ "locks.env": content }), "locks.env");
  const hosts = async (args: Partial<ServerArguments>, env: NodeJS.ProcessEnv): Promise<unknown[]> => {
    const { addresses, prefix, ttlMs } = await readServerOptions({ "env-file": file, ...args }, env);
    return [...addresses.map(({ where }) => (where as RedisAddress).host), prefix, ttlMs];
  };
  const env = { HOLDFAST_NODES: " env-a, redis://env-b\nenv-c " };
  expect(await hosts(nothing, {})).toEqual(["file", "file:", 60_000]);
  expect(await hosts(nothing, env)).toEqual(["env-a", "env-b", "env-c", "file:", 60_000]);
  expect(await hosts({ node: ["flag"], ttl: "2s" }, env)).toEqual(["flag", "file:", 2_000]);
});

test("readServerOptions() leaves the commas of etcd clusters in HOLDFAST_NODES", async () => {
  const list = "etcd://a,b:1,redis://c,d,,etcds://me:x@e,f,/run/redis.sock g,etcd://h,sqlite:x.db";
  const { addresses } = await readServerOptions(nothing, { HOLDFAST_NODES: list });
  expect(addresses.map(({ where }) => where)).toMatchObject([
    { hosts: ["a:2379", "b:1"] },
    { host: "c" },
    { host: "d" },
    { hosts: ["e:2379", "f:2379"], isTls: true },
    { path: "/run/redis.sock" },
    { host: "g" },
    { hosts: ["h:2379"] },
    { path: "x.db" },
  ]);
});

test("readServerOptions() reads the servers before and after a change, those in both sets once", async () => {
  const read = async (args: object, env: NodeJS.ProcessEnv): Promise<unknown[]> => {
    const { addresses, joint, generation } = await readServerOptions({ ...args }, env);
    return [addresses.map(({ where }) => (where as RedisAddress).host), joint, generation];
  };
  const joint = { old: [0, 1], new: [2, 1] };
  const env = { HOLDFAST_OLD: "d,e", HOLDFAST_NEW: "f e", HOLDFAST_GENERATION: "11" };
  expect(await read({}, env)).toEqual([["d", "e", "f"], joint, 11]);
  expect(await read({ node: ["g"], generation: "0" }, env)).toEqual([["g"], undefined, 0]);
  expect(await read({ old: ["a", "b"], new: ["c", "b"] }, {})).toEqual([["a", "b", "c"], joint, 0]);
});

test("readServerOptions() names the variable whose value is wrong", async () => {
  const env = { HOLDFAST_NODES: "a", HOLDFAST_TTL: "soon", HOLDFAST_GENERATION: "first" };
  expect(await refusal(readServerOptions({ generation: "0" }, env))).toContain("HOLDFAST_TTL must be a duration");
  expect(await refusal(readServerOptions({ ttl: "1m" }, env))).toContain("HOLDFAST_GENERATION must be a non-negative");
  expect(await refusal(readServerOptions({ generation: "0", ttl: "never" }, env))).toContain(
    "--ttl must be a duration",
  );
});

test("readServerOptions() rejects variables in a file that only look like those of this program", async () => {
  const path = join(
    await folderWith({ "locks.env": `HOLDFAST_NODS=redis://:${secret}\nHOLDFAST_TTL=1m` }),
    "locks.env",
  );
  const message = await refusal(readServerOptions({ "env-file": path }, {}));
  expect(message).toContain(`${path} has unknown variables: HOLDFAST_NODS; the known ones are HOLDFAST_NODES, `);
});
