/**
 * Moves money between two accounts that nobody else touches meanwhile.
 *
 * One lock covers both accounts, all or none, so that two transfers in opposite directions cannot each hold one account and
 * wait for the other. Its token is larger than that of any lock granted before on either, and both are shown it.
 */
import type { Redlock } from "@holdfast/core";
import type { FencedValues } from "./fenced-values.ts";

/**
 * Moves an amount, in the smallest unit of the currency.
 *
 * A lock keeps others out; it does not make two writes one. Here the storage does: it writes both balances, or none. Where
 * they are in two places, write down first what is to be done, and let whoever locks the accounts next finish it.
 *
 * @throws {RangeError} when the accounts are one and the same, or the amount is not to be had
 * @throws {StaleFenceError} when this process was paused past its lock, and somebody else has touched one of the accounts
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
    if (left < 0) throw new RangeError(`${from} has ${Number(sourceBalance)}, and not ${amount}`);
    const changed = { [source]: String(left), [target]: String(Number(targetBalance) + amount) };
    await balances.write(changed, lock.fence);
  });
}
