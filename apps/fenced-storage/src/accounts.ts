/** Accounts in a storage that several processes share. */
export interface Accounts {
  /** Creates an account. */
  create(id: string, balance: number): Promise<void>;
  /** Returns the balance. If it is shown a token, the storage checks it, and rejects with a `StaleFenceError` if it is stale. */
  read(id: string, fence?: number): Promise<number>;
  /** Sets the balance, with the same check. */
  write(id: string, balance: number, fence?: number): Promise<void>;
  /** Closes the connection. */
  close(): Promise<void>;
}

/** The accesses at which the token is shown. */
export type Checks = "nothing" | "writes" | "reads and writes";
