/**
 * Moves money between two accounts that no other client touches meanwhile.
 *
 * One lock covers both accounts or none, so that two transfers in opposite directions cannot each hold one account and wait
 * for the other. Its token is larger than that of any earlier lock on either account, and is shown to both.
 */
import type { Redlock } from "@holdfast/core";
import type { FencedValues } from "./fenced-values.ts";

/**
 * Moves an amount, in the smallest unit of the currency.
 *
 * A lock excludes others, but does not make two writes atomic. Here the storage does: it writes both balances or none. If they
 * are in two storages, first record what is to be done, and let the next holder of the lock finish it.
 *
 * @throws {RangeError} when both accounts are the same, or the balance is too low
 * @throws {StaleFenceError} when this process was paused past its lock, and another client has accessed one of the accounts
 */
export async function transfer(
  redlock: Redlock,
  balances: FencedValues,
  from: string,
  to: string,
  amount: number,
): Promise<void> {
  if (from === to) throw new RangeError(`could not transfer from ${from} to itself`);
  if (!Number.isSafeInteger(amount) || amount <= 0)
    throw new RangeError(`amount must be a positive integer: ${amount}`);
  const source = `account:${from}`;
  const target = `account:${to}`;
  await redlock.using([source, target], async (lock) => {
    const [sourceBalance, targetBalance] = await balances.read([source, target], lock.fence);
    const left = Number(sourceBalance) - amount;
    if (left < 0) throw new RangeError(`${from} has ${Number(sourceBalance)}, which is less than ${amount}`);
    const changed = { [source]: String(left), [target]: String(Number(targetBalance) + amount) };
    await balances.write(changed, lock.fence);
  });
}
