/** The manifests of docs/kubernetes.md. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { startRedisServer } from "@holdfast/testkit";
import type { StatefulSet } from "kubernetes-types/apps/v1.d.ts";
import type { Container } from "kubernetes-types/core/v1.d.ts";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { blocksOf, shell } from "./support/page.ts";
import { packageFolder, runCli } from "./support/program.ts";
import { withServers } from "./support/servers.ts";

const compiler = join(packageFolder, "../../node_modules/.bin/tsc");
const servers = withServers(3);

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

const manifests = (await blocksOf("../../docs/kubernetes.md"))
  .filter(({ language }) => language === "yaml")
  .flatMap(({ text }) => parseAllDocuments(text, { strict: true }))
  .map((document): Manifest => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });

test("kubernetes.md: the manifests have the fields that Kubernetes knows", async () => {
  const lines = manifests.map((manifest) => {
    const module = `kubernetes-types/${manifest.apiVersion === "v1" ? "core/v1" : manifest.apiVersion}.d.ts`;
    return `(${JSON.stringify(manifest)}) satisfies import("${module}").${manifest.kind};\n`;
  });
  const file = join(packageFolder, "reports/kubernetes.ts");
  await writeFile(file, lines.join(""));
  const flags = ["--noEmit", "--strict", "--module", "nodenext", "--skipLibCheck", "--ignoreConfig"];
  await promisify(execFile)(compiler, [...flags, file]).catch((error) => {
    throw new Error(`the compiler failed: ${error.stdout}${error.stderr}`, { cause: error });
  });
  expect(manifests).toHaveLength(6);
});

const containers = manifests.flatMap(containersOf);
const words = ({ command = [], args = [] }: Container): string[] => [...command, ...args];

/** Returns the containers of a manifest, wherever its pods are described. */
function containersOf(value: unknown): readonly Container[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "containers" ? inner : containersOf(inner)));
}

test("kubernetes.md: holdfast runs the commands of a job and of a leader, with the name of their pod", async () => {
  const inFolder = await shell([]);
  const commands = containers.map(words).filter(([program]) => program === "holdfast");
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const program = String(command.at(-1));
    const script = `printf '%s\\n' '#!/bin/sh' 'holdfast inspect "$HOLDFAST_RESOURCE" | head -n 1' >${program}
      chmod +x ${program}
      ${command.map((word) => `'${word}'`.replace("$(POD_NAME)", "pod-1")).join(" ")}`;
    // The servers have just started, and would not vote yet.
    const { code, out, err } = await inFolder(script.replace("60s", "0"), servers.env).ended;
    expect({ code, out, err }).toEqual({ code: 0, out: `${command[2]} is held by pod-1\n`, err: "" });
  }
});

test("kubernetes.md: Redis reaches the highest level as it is started there, with the guard of its clients", async () => {
  const set = manifests.find((manifest): manifest is StatefulSet & Manifest => manifest.kind === "StatefulSet");
  const [redis] = containersOf(set);
  const [program, ...args] = redis === undefined ? [] : words(redis);
  expect(program).toBe("redis-server");
  const started = await Promise.all(Array.from({ length: set?.spec?.replicas ?? 0 }, () => startRedisServer({ args })));
  onTestFinished(async () => void (await Promise.all(started.map((server) => server.stop()))));
  const env = { HOLDFAST_NODES: started.map(({ url }) => url).join(" ") };
  const { code, out } = await runCli(["doctor", "--restart-guard", "60s", "--require", "fenced"], { env });
  expect({ code, out }).toMatchObject({ code: 0, out: expect.stringMatching(/^yes fenced and durable$/m) });

  const guards = containers.map(words).flatMap((line) => line.filter((_, at) => line[at - 1] === "--restart-guard"));
  expect(guards).toEqual(["60s", "60s"]);
  expect(redis?.readinessProbe?.initialDelaySeconds).toBe(60);
});
