import { startRedisServer } from "@holdfast/testkit";

/** A server of any kind. */
export interface ExampleServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** The ports that examples show, each of which stands for one server. */
export const examplePorts: readonly string[] = ["6379", "7001", "7002", "7003", "7004", "7005", "5432", "3306", "2379"];

/** Starts the kind of server for which a port stands: PostgreSQL for 5432, MariaDB for 3306, etcd for 2379, and Redis for all others. */
export async function startExampleServer(port: string): Promise<ExampleServer> {
  // Loaded on demand, because most programs need none of them.
  if (port === "5432") return (await import("@holdfast/testkit/postgres-server")).startPostgresServer();
  if (port === "3306") return (await import("@holdfast/testkit/mysql-server")).startMysqlServer();
  if (port === "2379") return (await import("@holdfast/testkit/etcd-server")).startEtcdServer();
  return startRedisServer();
}
