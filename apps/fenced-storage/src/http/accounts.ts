import type { Account, Accounts } from "../accounts.ts";
import { readText, writeText } from "./fenced-client.ts";

/** Opens accounts in an HTTP service. */
export async function openHttpAccounts(url: string): Promise<Accounts> {
  const account = (id: string, fence: number | undefined): Account => ({
    read: async () => Number(await readText(`${url}/accounts/${id}`, fence)),
    write: (balance) => writeText(`${url}/accounts/${id}`, String(balance), fence),
  });
  return {
    create: (id, balance) => account(id, undefined).write(balance),
    unchecked: (id) => account(id, undefined),
    checked: account,
    async close() {},
  };
}
