import { type AddressForm, BadAddress, decodePercents } from "../server.ts";

/** The address of a PostgreSQL database, the login, and the table of the locks. */
export interface PostgresAddress {
  /** The connection string for `pg`, which may contain a password. */
  readonly connectionString: string;
  /** The host or the path of the socket, the port, the database and the table, unless they are the usual ones. */
  readonly name: string;
  readonly schema: string | undefined;
  readonly table: string | undefined;
}

/** The parameters that `pg` reads. */
const parameters = ["host", "sslmode", "sslrootcert", "sslcert", "sslkey", "uselibpqcompat"];
const ownParameters = ["schema", "table"];

/** How the addresses of databases are written. */
export const postgresAddresses: AddressForm<PostgresAddress> = {
  forms: "postgres://[user:password@]host[:port]/database[?schema=S&table=T&sslmode=M]",
  scheme: /^postgres(ql)?:\/\//i,
  parse(text) {
    if (!URL.canParse(text)) throw new BadAddress("is not the address of a database");
    const url = new URL(text);
    const known = [...parameters, ...ownParameters];
    const names = [...url.searchParams.keys()];
    if (url.hash !== "" || names.some((name) => !known.includes(name))) throw new BadAddress("has unknown parameters");
    if (new Set(names).size < names.length) throw new BadAddress("has a parameter twice");
    const host = url.searchParams.get("host") ?? url.hostname;
    if (host === "") throw new BadAddress("names no host");
    const { username, password, pathname } = url;
    const { database } = decodePercents({ username, password, database: pathname.slice(1) });
    const [schema, table] = ownParameters.map((name) => url.searchParams.get(name) ?? undefined);
    for (const name of ownParameters) url.searchParams.delete(name);
    const port = host.startsWith("/") ? "" : `:${url.port || 5432}`;
    const place = schema === undefined && table === undefined ? [] : [[schema, table].filter(Boolean).join(".")];
    return {
      connectionString: url.href,
      name: [`${host}${port}`, ...(database === "" ? [] : [database]), ...place].join("/"),
      schema,
      table,
    };
  },
};
