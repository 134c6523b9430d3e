import { join } from "node:path";
import {
  launchPostgres,
  type PostgresFiles,
  type PostgresServer,
  type PostgresSettings,
  serverDirectory,
} from "./postgres-process.ts";

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

/** The data directory of an empty server, which others are copied from: creating one takes ten times as long. */
let template: Promise<string> | undefined;

async function createTemplate({ run }: PostgresFiles): Promise<string> {
  const data = join(await serverDirectory(), "data");
  const access = ["--username=holdfast", "--auth=trust"];
  // Small segments of the log save time and space.
  await run("initdb", ...access, "--encoding=UTF8", "--locale=C", "--no-sync", "--wal-segsize=1", data);
  return data;
}

/** Starts an empty server on a free port, and resolves when it accepts connections. */
export async function startPostgresServer(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const { fsync = false, settings = {}, folder } = options;
  return launchPostgres(
    async (files) => {
      template ??= createTemplate(files);
      await files.copy(await template);
    },
    { fsync: fsync ? "on" : "off", ...settings },
    folder,
  );
}
