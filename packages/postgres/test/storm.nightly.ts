import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fuzzSeed } from "@holdfast/testkit";
import { bundleProgram } from "@holdfast/testkit/bundle-program";
import { startPostgresServer } from "@holdfast/testkit/postgres-server";
import pg from "pg";
import { expect, test } from "vitest";
import { freshTable } from "./servers.ts";

const stormMs = 6_000;

/** A change of a row, as a trigger has recorded it. */
interface Change {
  readonly old_fence: string;
  readonly new_fence: string;
  /** The claims in force when the trigger ran, by owner: x for an exclusive one, s for a shared one. */
  readonly old_claims: Readonly<Record<string, "x" | "s">>;
  readonly new_claims: Readonly<Record<string, "x" | "s">>;
}

test("24 workers that read and write: no writer overlaps with another claim, nobody's claim is lost, no deadlock", () =>
  storm("locks", 50));

test("24 workers whose statements are serializable: no writer overlaps with another claim, no deadlock", () =>
  storm("locks", 50, "serializable"));

test("24 workers whose transactions hold the locks: no overlap, nobody's claim is lost, no deadlock", () =>
  storm("transactions", 5));

/** Lets workers claim the same resources at once, and judges the changes of the rows. */
async function storm(kind: "locks" | "transactions", countMin: number, level = "read committed"): Promise<void> {
  // The server reports a deadlock long before the lock timeout of a statement ends it.
  const settings = { deadlock_timeout: "10ms", default_transaction_isolation: level };
  const server = await startPostgresServer({ settings });
  const { connectionString } = server;
  const table = await freshTable(connectionString);
  const client = new pg.Client(connectionString);
  await client.connect();
  await client.query(`
    CREATE TABLE changes (id bigserial, old_fence bigint, new_fence bigint, old_claims jsonb, new_claims jsonb);
    CREATE FUNCTION claims(owner text, until timestamptz, sharers jsonb, now timestamptz) RETURNS jsonb LANGUAGE sql AS $$
      SELECT CASE WHEN owner IS NULL OR until <= now THEN '{}' WHEN sharers IS NULL THEN jsonb_build_object(owner, 'x')
        ELSE coalesce((SELECT jsonb_object_agg(key, 's') FROM jsonb_each(sharers)
          WHERE to_timestamp((value ->> 0)::bigint / 1000000.0::float8) > now), '{}') END $$;
    CREATE FUNCTION record() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE now timestamptz = clock_timestamp(); BEGIN
      INSERT INTO changes (old_fence, new_fence, old_claims, new_claims) SELECT coalesce(OLD.fence, 0), NEW.fence,
        claims(OLD.owner, OLD.until, OLD.sharers, now), claims(NEW.owner, NEW.until, NEW.sharers, now)
      WHERE (NEW.owner, NEW.fence, NEW.sharers) IS DISTINCT FROM (OLD.owner, OLD.fence, OLD.sharers);
      RETURN NULL;
    END $$;
    CREATE TRIGGER record AFTER INSERT OR UPDATE ON "${table}" FOR EACH ROW EXECUTE FUNCTION record();
  `);
  const seed = fuzzSeed;
  let outcomes = 0;
  const processes: ChildProcess[] = [];
  const program = await bundleProgram(new URL("./fixtures/storm-workers.ts", import.meta.url));
  const start = (ms: number): Promise<unknown> => {
    const args = [connectionString, table, String(ms), String(seed + processes.length), kind];
    const child = fork(program, args, { execArgv: [] });
    processes.push(child);
    child.on("message", () => outcomes++);
    return once(child, "exit");
  };
  try {
    const ends = [start(stormMs), start(stormMs), start(stormMs)];
    await expect.poll(() => outcomes, { timeout: 30_000 }).toBeGreaterThan(200);
    processes[0]?.kill("SIGKILL"); // in the middle of its requests
    ends.push(start(stormMs / 2));
    processes[1]?.kill("SIGSTOP");
    await sleep(200); // for longer than any ttl
    processes[1]?.kill("SIGCONT");
    await sleep(stormMs / 6); // claims of the dead process end meanwhile
    await client.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND random() < 0.1",
    );
    await Promise.all(ends);
    const { rows: changes } = await client.query<Change>("SELECT * FROM changes ORDER BY id");
    expect(await server.log()).not.toContain("deadlock detected");
    checkSharing(changes, countMin);
  } catch (error) {
    throw new Error(`with seed ${seed}`, { cause: error });
  } finally {
    for (const child of processes) child.kill("SIGKILL");
    await client.end();
    await server.stop();
  }
}

/** Whether a claim was made to take over from this owner. */
function isSuccessor(owner: string, predecessor: string): boolean {
  return owner.endsWith(`after ${predecessor.slice(0, 36)}`);
}

/** A new claim replaces none but the one that it takes over. A writer is alone and has a higher fence, readers meet no writer. */
function checkSharing(changes: readonly Change[], countMin: number): void {
  const counts = { writers: 0, joined: 0 };
  for (const change of changes) {
    const { old_claims: before, new_claims: after } = change;
    const say = JSON.stringify(change);
    const arrived = Object.keys(after).filter((owner) => !(owner in before));
    const gone = Object.keys(before).filter((owner) => !(owner in after));
    expect(arrived.length, say).toBeLessThanOrEqual(1);
    expect(gone.length, say).toBeLessThanOrEqual(1);
    expect(Object.keys(after).length === 1 || !Object.values(after).includes("x"), say).toBe(true);
    expect(Number(change.new_fence), say).toBeGreaterThanOrEqual(Number(change.old_fence));
    const [newcomer] = arrived;
    if (newcomer === undefined) continue;
    for (const owner of gone) expect(isSuccessor(newcomer, owner), say).toBe(true);
    if (after[newcomer] === "x") expect(Number(change.new_fence), say).toBeGreaterThan(Number(change.old_fence));
    counts.writers += Number(after[newcomer] === "x");
    counts.joined += Number(Object.keys(after).length > 1);
  }
  expect(counts.writers).toBeGreaterThan(countMin);
  expect(counts.joined).toBeGreaterThan(countMin);
}
