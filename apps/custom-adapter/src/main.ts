// src/main.ts
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { Redlock } from "@holdfast/core";
import { sqliteNode } from "./sqlite-node.ts";

const [folder = ".", rounds = "50"] = process.argv.slice(2);
const counter = `${folder}/counter`;
const node = await sqliteNode(`${folder}/locks.db`);
const redlock = new Redlock([node], {
  nodeTimeoutMs: 1_000, // a disk may take its time
  retryDelayMs: 2, // asking again costs no network
  waitTimeoutMs: 60_000,
});

for (let round = 0; round < Number(rounds); round++) {
  await redlock.using("counter", async (lock) => {
    const count = 1 + Number(await readFile(counter, "utf8").catch(() => 0));
    await writeFile(counter, `${count}`);
    console.log(`${count} under fence ${lock.fence}`);
  });
  await setTimeout(5 * Math.random()); // so that the others get their turn
}
node.close();
