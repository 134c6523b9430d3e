/** Servers that are killed and restarted. */

import { readFile, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../attack/stage.ts";
import type { ChaosNode } from "../world/node.ts";
import { atBareMajority, type Blow } from "./bare-majority.ts";
import type { Nemesis } from "./nemesis.ts";

type Fsync = "everysec" | "always";

export const crashNemeses: readonly Nemesis[] = [
  {
    name: "crash-forgetting",
    description: "a server of a bare majority is killed, and restarts at once and empty (no persistence)",
    kind: "lock-breaking",
    ...atBareMajority({ strike: crash }),
  },
  {
    name: "crash-guarded",
    description: "like crash-forgetting, with a restart guard: a server that has just restarted does not vote",
    kind: "survivable",
    guarded: true,
    ...atBareMajority({ strike: crash }),
  },
  {
    name: "crash-everysec",
    description: "like crash-forgetting, with appendfsync everysec: the file lacks commands confirmed during a sync",
    kind: "lock-breaking",
    ...appending("everysec"),
  },
  {
    name: "power-cut-everysec",
    description: "like crash-everysec, and the end of the file is lost, as in a power failure",
    kind: "lock-breaking",
    ...appending("everysec", powerCut()),
  },
  {
    name: "crash-always",
    description: "like crash-forgetting, with appendfsync always: the server writes to disk before it replies",
    kind: "survivable",
    ...appending("always"),
  },
];

/** Attacks a server with an append-only file. */
function appending(fsync: Fsync, blow?: Blow) {
  return {
    ...atBareMajority({
      prepare: (victim) => appendOnly(victim, fsync),
      strike: (stage, victim) => crash(stage, victim, fsync),
      ...blow,
    }),
    reset: async ({ nodes }: Stage) => void (await nodes[0]?.server.command("CONFIG", "SET", "appendonly", "no")),
  };
}

/** The file ends where it ended before the last lock was granted. */
function powerCut(): Blow {
  let file = "";
  let size = 0;
  return {
    async beforeGrant(victim) {
      file = await appendOnlyFile(victim);
      size = (await stat(file)).size;
    },
    async strike(stage, victim) {
      await stage.during(victim.name, "power cut", async () => {
        await victim.server.kill();
        await truncate(file, size);
        await victim.server.restart(argsOf(victim, "everysec"));
      });
    },
  };
}

async function crash(stage: Stage, victim: ChaosNode, fsync?: Fsync): Promise<void> {
  const label = `killed, back ${fsync === undefined ? "empty" : "with its file"}`;
  await stage.during(victim.name, label, () => victim.server.restart(argsOf(victim, fsync)));
}

function argsOf({ args }: ChaosNode, fsync?: Fsync): readonly string[] {
  return fsync === undefined ? args : [...args, "--appendonly", "yes", "--appendfsync", fsync];
}

/** Makes a running server write an append-only file, and waits until the file is complete. */
async function appendOnly({ server }: ChaosNode, fsync: Fsync): Promise<void> {
  await server.command("CONFIG", "SET", "appendfsync", fsync);
  await server.command("CONFIG", "SET", "appendonly", "yes");
  for (let looks = 0; looks < 1_000; looks++) {
    const persistence = String(await server.command("INFO", "persistence"));
    if (/aof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/.test(persistence)) return;
    await sleep(5);
  }
  throw new Error("the server did not write its append-only file");
}

/** Returns the file that the server appends to, as named by the manifest. */
async function appendOnlyFile({ server }: ChaosNode): Promise<string> {
  const [, directory] = (await server.command("CONFIG", "GET", "dir")) as string[];
  const folder = join(String(directory), "appendonlydir");
  const manifest = await readFile(join(folder, "appendonly.aof.manifest"), "utf8");
  const [, name] = manifest.match(/^file (\S+) seq \d+ type i$/m) ?? [];
  return join(folder, String(name));
}
