/** What the benchmark needs of a lock library, or of what stands in for one. */

/** Someone who takes part. */
export interface Contender {
  readonly name: string;
  /**
   * Holdfast; another library; a client used by hand, without any library; or a bare socket, below which nothing can be
   * had.
   */
  readonly role: "ours" | "peer" | "raw" | "floor";
  /** What differs from the library's own defaults. */
  readonly settings: Settings;
  /** Whether it waits for a lock that another holds. What does not is left out of the contended workloads. */
  readonly waits: boolean;
  /** Whether its locks hold between processes. */
  readonly spansProcesses: boolean;
  /** Whether one lock can cover several keys. */
  readonly locksSeveral: boolean;
  /** What its users import, where that is to be weighed. */
  readonly package?: string;
  /** Loads the code, in the process that is measured and in no other. */
  load(): Promise<ContenderModule>;
}

/** What differs from a library's own defaults. */
export interface Settings {
  /** `"tuned"`: shorter delays between attempts, and as many of them as a patient caller would make. */
  readonly waiting: "default" | "tuned";
  /** Whether a release is waited for. */
  readonly awaitsRelease: boolean;
  /** Whether slow answers are waited for: where things are counted, how busy the machine is must not count. */
  readonly isPatient: boolean;
}

/** A module beside this one. */
export interface ContenderModule {
  /** Connects one client to each of the servers on 127.0.0.1, and resolves when all are ready. */
  connect(ports: readonly number[], settings: Settings): Promise<Client>;
}

/** One user of a library, with connections of its own. */
export interface Client {
  /** Waits for a lock as the library does; rejects when the library gives up. */
  acquire(keys: readonly string[], ttlMs: number): Promise<Release>;
  /** Closes the connections. What is under way may fail. */
  close(): Promise<void> | void;
}

/** Gives a lock up. Answers nothing where the caller is not to wait. */
export type Release = () => PromiseLike<unknown> | undefined;
