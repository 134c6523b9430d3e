/**
 * `pnpm matrix`: runs the conformance suite of every adapter for Redis, and the comparison of the lock script's paths, over
 * every server that Debian packages, with each version of each client; and all tests of the adapter for MySQL and MariaDB
 * over their servers. Writes the results to `docs/generated/compatibility.md`.
 *
 * The first run downloads about 400 MB of servers. Words on the command line select servers by name; the table is then
 * printed and not written.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { exec } from "tinyexec";
import { replaceTables } from "./lib/markdown.ts";
import { run } from "./lib/run.ts";
import { publicPackages, root, scripts } from "./lib/workspace.ts";
import { fetchServer, kinds, type PackagedServer, packagedServers } from "./matrix/servers.ts";
import { type ConformanceReport, compatibilityTable, failures, type ServerReport, totals } from "./matrix/table.ts";

const reportPath = join(scripts, "reports/matrix.json");
const longestRunMs = 30 * 60_000;

const words = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const selected = packagedServers.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)));
const reports: (ServerReport & Pick<PackagedServer, "kind">)[] = [];
for (const server of selected) {
  const program = await fetchServer(server);
  console.log(`${server.name} …`);
  const report = await testsOver(program, server.kind);
  for (const failure of failures(report)) console.log(`  ${failure}`);
  reports.push({ server: await nameOf(program), kind: server.kind, report });
}
const ofKinds = Object.keys(kinds)
  .map((kind) => reports.filter((report) => report.kind === kind))
  .filter(({ length }) => length > 0);
const tables = ofKinds.map(compatibilityTable);
if (words.length === 0) {
  const page = join(root, "docs/generated/compatibility.md");
  const written = replaceTables(await readFile(page, "utf8"), tables);
  const tested = `The clients are ${await clients()}.`;
  await writeFile(
    page,
    written.replace(/^The clients are .*?\.(?= A)/m, () => tested),
  );
}
const counts = ofKinds.map(totals);
const [passed = 0, failed = 0] = (["passed", "failed"] as const).map((key) =>
  counts.reduce((sum, count) => sum + count[key], 0),
);
console.log(`\n${tables.join("\n")}\n${passed} passed, ${failed} failed`);
if (failed > 0 || passed === 0) process.exitCode = 1;

/** Returns the name and version that the program reports. */
async function nameOf(program: string): Promise<string> {
  const version = await run(program, ["--version"], scripts);
  const redis = /^(\w+) server v=(\S+)/.exec(version);
  const [name, number] = redis?.slice(1) ?? [
    /MariaDB/.exec(version)?.[0] ?? "MySQL",
    /Ver ([\d.]+)/.exec(version)?.[1],
  ];
  return `${name} ${number}`;
}

async function testsOver(program: string, kind: PackagedServer["kind"]): Promise<ConformanceReport> {
  await rm(reportPath, { force: true });
  const config = join(scripts, "matrix/vitest.config.ts");
  const env = { [kinds[kind].variable]: program, HOLDFAST_NIGHTLY: "1" };
  const tests = await exec("vitest", ["run", "--config", config, ...kinds[kind].tests], {
    timeout: longestRunMs,
    nodeOptions: { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] },
  });
  const report = await readFile(reportPath, "utf8").catch(() => {
    throw new Error(`the tests left no report:\n${tests.stdout}${tests.stderr}`);
  });
  return JSON.parse(report);
}

/** Returns the name and version of each client library that an adapter for Redis is tested with. */
async function clients(): Promise<string> {
  const versions = new Set<string>();
  for (const { directory, manifest } of await publicPackages()) {
    const isTested = kinds.redis.tests.some((tests) => `${directory}/`.endsWith(tests));
    if (!isTested || !manifest.dependencies?.["@holdfast/redis"]) continue;
    for (const alias of Object.keys(manifest.devDependencies ?? {})) {
      if (alias.startsWith("@holdfast/")) continue;
      const installed = await readFile(join(directory, "node_modules", alias, "package.json"), "utf8");
      const { name, version } = JSON.parse(installed);
      versions.add(`${name} ${version}`);
    }
  }
  return [...versions].sort().join(", ");
}
