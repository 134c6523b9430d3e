import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "@holdfast/testkit";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const start = resolve(root, "docs/start.md");
const [short] = await readmeExamples(resolve(root, "README.md"));
const [memory, one, three] = (await readmeExamples(start)).map(({ code }) => code);
const ioredis = resolve(root, "packages/ioredis");

it("the README's quick start is the first one of docs/start.md", () => {
  expect(short?.code).toBe(memory);
});

it("the first page of the site shows the quick starts of packages, whose READMEs are run", async () => {
  const shown = await readmeExamples(resolve(root, "apps/site/pages/index.md"));
  const packages = ["ioredis", "node-redis", "postgres", "memory"];
  const quickStarts = packages.map(
    async (name) => (await readmeExamples(resolve(root, `packages/${name}/README.md`)))[0],
  );
  expect(shown.map(({ code }) => code)).toEqual((await Promise.all(quickStarts)).map((example) => example?.code));
});

it("the first quick start runs unchanged", { timeout: 90_000 }, async () => {
  const printed = await runExample(memory ?? "", resolve(root, "packages/memory"));
  expect(printed).toMatch(/^alone with invoice:42, fence \d{16}\n$/);
});

it("the second quick start gets a lock over one server", { timeout: 90_000 }, async () => {
  const printed = await runExample(one?.replace("6379", "7001") ?? "", ioredis);
  expect(printed).toMatch(/^alone with invoice:42, fence \d{16}\n$/);
});

it("the third quick start gets a lock over the servers that its shell line starts", {
  timeout: 90_000,
}, async () => {
  const [line] = /^for port in .*; done$/m.exec(await readFile(start, "utf8")) ?? [];
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const withPorts = (text = "") => text.replace(/\b700([123])\b/g, (_, digit) => String(ports[Number(digit) - 1]));
  const directory = await mkdtemp(join(tmpdir(), "holdfast-readme-"));
  const command = withPorts(line).replace("--daemonize", "--bind 127.0.0.1 --daemonize");
  await promisify(execFile)("bash", ["-c", command], { env: { ...process.env, TMPDIR: directory } });
  const clients = ports.map((port) => new Redis(port));
  try {
    const printed = await runExample(withPorts(three), ioredis);
    expect(printed).toMatch(/^alone with invoice:42 on a majority of three servers, fence \d{16}\n$/);
  } finally {
    for (const client of clients) {
      const [, pid] = /process_id:(\d+)/.exec(await client.info("server")) ?? [];
      client.disconnect();
      process.kill(Number(pid), "SIGKILL");
    }
    await rm(directory, { recursive: true, force: true });
  }
});

it("the compose file starts servers on the ports of the third quick start", async () => {
  const compose = await readFile(resolve(root, "docs/compose.yaml"), "utf8");
  for (const port of three?.match(/\b700\d\b/g) ?? [""]) expect(compose).toContain(`"127.0.0.1:${port}:6379"`);
});
