import { launchPostgres, type PostgresServer, type PostgresSettings } from "./postgres-process.ts";

export type { PostgresServer, PostgresSettings };

/** Options of {@link startPostgresServer}. */
export interface PostgresServerOptions {
  /** Whether a commit is synced to disk before the reply. Default: false, for tests that crash no machine. */
  readonly fsync?: boolean;
  /** Further settings, such as `{ max_connections: 20 }`. */
  readonly settings?: PostgresSettings;
  /** The parent of the data directory, such as the path of a small disk. Default: a temporary directory. */
  readonly folder?: string;
}

/** Starts an empty server on a free port, and resolves when it accepts connections. */
export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { fsync = false, settings = {}, folder } = options;
  return launchPostgres(
    async ({ data, run }) => {
      const access = ["--username=holdfast", "--auth=trust"];
      // Small segments of the log save time and space.
      await run("initdb", ...access, "--encoding=UTF8", "--locale=C", "--no-sync", "--wal-segsize=1", data);
    },
    { fsync: fsync ? "on" : "off", ...settings },
    folder,
  );
}
