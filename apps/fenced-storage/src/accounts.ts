/** An account, as used by a worker that holds its lock. */
export interface Account {
  /** The balance. */
  read(): Promise<number>;
  /** Sets the balance. */
  write(balance: number): Promise<void>;
}

/** Accounts in a storage that several processes share, with and without a check of the token. */
export interface Accounts {
  /** Creates an account. */
  create(id: string, balance: number): Promise<void>;
  /** Returns an account that is shown no token, and accepts any write. */
  unchecked(id: string): Account;
  /** Returns an account that is shown the token at each access, and rejects with a `StaleFenceError` if it is stale. */
  checked(id: string, fence: number): Account;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** The accesses at which the token is shown. */
export type Checks = "nothing" | "writes" | "reads and writes";

/** Returns an account that is shown the token at these accesses. */
export function accountOf(accounts: Accounts, id: string, fence: number, checks: Checks): Account {
  const checked = accounts.checked(id, fence);
  const unchecked = accounts.unchecked(id);
  return {
    read: checks === "reads and writes" ? checked.read : unchecked.read,
    write: checks === "nothing" ? unchecked.write : checked.write,
  };
}
