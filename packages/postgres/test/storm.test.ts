import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fuzzSeed } from "@holdfast/testkit";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { expect, test } from "vitest";
import { freshTable } from "./servers.ts";

const stormMs = 6_000;

/** A change of a row, as a trigger has recorded it. */
interface Change {
  readonly name: string;
  readonly old_owner: string | null;
  readonly new_owner: string | null;
  /** Whether the old claim had not ended. */
  readonly alive: boolean;
  readonly old_fence: string;
  readonly new_fence: string;
}

/** What a worker has received. */
interface Outcome {
  readonly owner: string;
  readonly resources: readonly string[];
  readonly fences: readonly number[];
}

test("24 workers on overlapping resources: no overlap, no repeated fence, no partial grant, no deadlock", async () => {
  const server = await startPostgresServer();
  const { connectionString } = server;
  const table = await freshTable(connectionString);
  const client = new pg.Client(connectionString);
  await client.connect();
  await client.query(`
    CREATE TABLE changes (id bigserial, name text, old_owner text, new_owner text, alive boolean, old_fence bigint, new_fence bigint);
    CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      INSERT INTO changes (name, old_owner, new_owner, alive, old_fence, new_fence)
      SELECT NEW.name, OLD.owner, NEW.owner, coalesce(OLD.until > clock_timestamp(), false), coalesce(OLD.fence, 0), NEW.fence
      WHERE NEW.owner IS DISTINCT FROM OLD.owner OR NEW.fence IS DISTINCT FROM OLD.fence;
      RETURN NULL;
    END $$;
    CREATE TRIGGER record AFTER INSERT OR UPDATE ON "${table}" FOR EACH ROW EXECUTE FUNCTION record();
  `);
  const seed = fuzzSeed;
  const outcomes: Outcome[] = [];
  const processes: ChildProcess[] = [];
  const start = (ms: number): Promise<unknown> => {
    const args = [connectionString, table, String(ms), String(seed + processes.length)];
    const execArgv = ["--conditions=@holdfast/source", "--import", "tsx"];
    const child = fork(new URL("./fixtures/storm-workers.ts", import.meta.url), args, { execArgv });
    processes.push(child);
    child.on("message", (outcome: Outcome) => outcomes.push(outcome));
    return once(child, "exit");
  };
  try {
    const ends = [start(stormMs), start(stormMs), start(stormMs)];
    await expect.poll(() => outcomes.length).toBeGreaterThan(500);
    processes[0]?.kill("SIGKILL"); // in the middle of its requests
    ends.push(start(stormMs / 2));
    await sleep(stormMs / 6); // claims of the dead process end meanwhile
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND random() < 0.1",
    );
    await Promise.all(ends);
    const { rows: changes } = await client.query<Change>("SELECT * FROM changes ORDER BY id");
    const { rows } = await client.query(
      "SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()",
    );
    expect(rows).toEqual([{ deadlocks: 0 }]);
    checkChanges(changes);
    checkOutcomes(outcomes, changes);
  } catch (error) {
    throw new Error(`with seed ${seed}`, { cause: error });
  } finally {
    for (const child of processes) child.kill("SIGKILL");
    await client.end();
    await server.stop();
  }
});

/** An owner is replaced only when its claim has ended, or by a takeover; each owner has a higher fence than the last. */
function checkChanges(changes: readonly Change[]): void {
  const granted = changes.filter(({ old_owner, new_owner }) => new_owner !== null && new_owner !== old_owner);
  expect(granted.length).toBeGreaterThan(1_000);
  for (const change of granted) {
    const isTakeover =
      change.old_owner !== null && change.new_owner?.endsWith(`after ${change.old_owner.slice(0, 36)}`);
    if (change.old_owner !== null && !isTakeover) expect(change.alive, JSON.stringify(change)).toBe(false);
    expect(Number(change.new_fence), JSON.stringify(change)).toBeGreaterThan(Number(change.old_fence));
  }
  for (const change of changes) expect(Number(change.new_fence)).toBeGreaterThanOrEqual(Number(change.old_fence));
}

/** A grant covers all resources under one fence, which no other owner has; a denial covers none. */
function checkOutcomes(outcomes: readonly Outcome[], changes: readonly Change[]): void {
  /** The resources of each owner and fence. A copy of a request may be granted again when the claim has ended. */
  const granted = new Map<string, Map<number, string[]>>();
  for (const { name, new_owner, old_fence, new_fence } of changes) {
    if (new_owner === null || Number(new_fence) === Number(old_fence)) continue;
    const fences = granted.get(new_owner) ?? new Map<number, string[]>();
    granted.set(new_owner, fences);
    fences.set(Number(new_fence), [...(fences.get(Number(new_fence)) ?? []), name]);
  }
  const holders = new Map<string, string>();
  for (const { owner, resources, fences } of outcomes) {
    const claims = granted.get(owner) ?? new Map<number, string[]>();
    expect([...claims.keys()].sort(), `fences of ${owner}`).toEqual([...new Set(fences)].sort());
    for (const [fence, names] of claims) {
      expect(names.sort(), `claims of ${owner}`).toEqual([...resources]);
      for (const name of names) {
        const key = `${name} ${fence}`;
        expect(holders.get(key) ?? owner, `the owner with fence ${fence} of ${name}`).toBe(owner);
        holders.set(key, owner);
      }
    }
  }
}
