import type { Pool, RowDataPacket } from "mysql2/promise";
import { type LockTable, lockTable } from "../database/lock-table.ts";
import type { MysqlAddress } from "./mysql-address.ts";

/** Lists the columns on which the user has privileges, with these. */
const lookup = `
  SELECT column_name AS name, privileges AS privileges FROM information_schema.columns WHERE table_schema = ? AND table_name = ?`;

const privileges = ["SELECT", "INSERT", "UPDATE"];

/** Returns the table at an address, which the statement creates. */
export function mysqlTable(
  pool: Pool,
  { database, table = "holdfast_locks" }: Pick<MysqlAddress, "database" | "table">,
  statement: string,
): LockTable {
  return lockTable({
    name: [database, table].map((each) => `\`${each.replaceAll("`", "``")}\``).join("."),
    statement,
    execute: (text) => pool.query(text),
    async describe(columns) {
      const [rows] = await pool.query<RowDataPacket[]>(lookup, [database, table]);
      if (rows.length === 0) return undefined;
      const found = rows.map(({ name }) => String(name));
      const has = (privilege: string): boolean =>
        rows.every((row) => String(row.privileges).toUpperCase().split(",").includes(privilege));
      return {
        missingColumns: columns.filter((column) => !found.includes(column)),
        missingPrivileges: privileges.filter((privilege) => !has(privilege)),
      };
    },
  });
}
