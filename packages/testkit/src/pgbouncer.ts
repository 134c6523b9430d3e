import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { firstValue } from "./first-value.ts";
import { controlServer, inServerDirectory, onFreePort } from "./server-process.ts";
import { serverUser } from "./server-user.ts";

/** Options of {@link startPgBouncer}. */
export interface PgBouncerOptions {
  /** How long a client keeps a connection to the server. */
  readonly poolMode: "session" | "transaction" | "statement";
  /** The number of connections to the server. Default: 4. */
  readonly poolSize?: number;
}

/**
 * Starts a real PgBouncer between clients and a PostgreSQL server, on a free port of 127.0.0.1, and resolves when it forwards
 * statements.
 *
 * @param server a server that accepts the user `holdfast` without a password
 * @throws {Error} with installation advice if the program is missing, or with its log if it does not start
 */
export async function startPgBouncer(server: { readonly port: number }, { poolMode, poolSize = 4 }: PgBouncerOptions) {
  const user = await serverUser(); // PgBouncer refuses to run as root
  return inServerDirectory(user, async (directory) => {
    const [users, file] = [join(directory, "users.txt"), join(directory, "pgbouncer.ini")];
    await writeFile(users, '"holdfast" ""\n');
    return onFreePort(async (port) => {
      const connectionString = `postgres://holdfast@127.0.0.1:${port}/postgres`;
      const config = {
        ...{ listen_addr: "127.0.0.1", listen_port: port, unix_socket_dir: "" },
        ...{ auth_type: "trust", auth_file: users },
        ...{ pool_mode: poolMode, default_pool_size: poolSize, max_client_conn: 1_000 },
      };
      const lines = Object.entries(config).map(([name, value]) => `${name} = ${value}`);
      const databases = `* = host=127.0.0.1 port=${server.port}`;
      await writeFile(file, ["[databases]", databases, "[pgbouncer]", ...lines, ""].join("\n"));
      const bouncer = controlServer(directory, () => ({
        command: "pgbouncer",
        args: [file],
        advice: "install it (Debian: apt-get install pgbouncer)",
        user,
        isAnswering: async () => (await firstValue(connectionString, "SELECT 1")) === 1,
      }));
      await bouncer.restart();
      return Object.assign(bouncer, { connectionString, port });
    });
  });
}
