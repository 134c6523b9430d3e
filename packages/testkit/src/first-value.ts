import pg from "pg";

/** Runs a query over a new connection, and resolves with the first value of its first row. */
export async function firstValue(connectionString: string, query: string): Promise<unknown> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<unknown[]>({ text: query, rowMode: "array" });
    return rows[0]?.[0];
  } finally {
    await client.end().catch(() => {});
  }
}
