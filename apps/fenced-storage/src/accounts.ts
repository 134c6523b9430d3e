/** One account, as a worker uses it that holds its lock. */
export interface Account {
  /** The balance. */
  read(): Promise<number>;
  /** Sets the balance. */
  write(balance: number): Promise<void>;
}

/** Accounts in a storage that several processes share. Each storage can do this much, with and without a check. */
export interface Accounts {
  /** Makes an account. */
  create(id: string, balance: number): Promise<void>;
  /** An account that is shown no token: whatever is written is accepted. */
  unchecked(id: string): Account;
  /** An account that is shown the token of a lock at each touch, and rejects with a `StaleFenceError` if it is old. */
  checked(id: string, fence: number): Account;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** Where the token is shown. */
export type Checks = "nothing" | "writes" | "reads and writes";

/** An account that is shown the token where it should be. */
export function accountOf(accounts: Accounts, id: string, fence: number, checks: Checks): Account {
  const checked = accounts.checked(id, fence);
  const unchecked = accounts.unchecked(id);
  return {
    read: checks === "reads and writes" ? checked.read : unchecked.read,
    write: checks === "nothing" ? unchecked.write : checked.write,
  };
}
