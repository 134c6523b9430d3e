import { type AddressForm, BadAddress, decodePercents } from "../server.ts";

/** The address of a MySQL or MariaDB database, the login, and the table of the locks. */
export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  /** The path of a Unix domain socket, instead of the host and the port. */
  readonly socketPath: string | undefined;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly table: string | undefined;
  /** Whether connections are encrypted, and what of the server's certificate is checked. */
  readonly sslMode: SslMode;
  /** The host or the path of the socket, the port, the database and the table, unless it is the usual one. */
  readonly name: string;
}

const sslModes = ["DISABLED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"] as const;

/** One of MySQL's words for the encryption of connections. */
export type SslMode = (typeof sslModes)[number];

const parameters = ["socket", "ssl-mode", "table"];

/** How the addresses of databases are written. */
export const mysqlAddresses: AddressForm<MysqlAddress> = {
  forms: "mysql://[user:password@]host[:port]/database[?table=T&ssl-mode=M]",
  scheme: /^(mysql|mariadb):\/\//i,
  parse(text) {
    if (!URL.canParse(text)) throw new BadAddress("is not the address of a database");
    const { hash, hostname, password, pathname, port, searchParams, username } = new URL(text);
    const names = [...searchParams.keys()];
    if (hash !== "" || names.some((name) => !parameters.includes(name))) throw new BadAddress("has unknown parameters");
    if (new Set(names).size < names.length) throw new BadAddress("has a parameter twice");
    const [socketPath, mode = "DISABLED", table] = parameters.map((name) => searchParams.get(name) ?? undefined);
    const sslMode = sslModes.find((each) => each === mode.toUpperCase());
    if (sslMode === undefined) throw new BadAddress(`has an unknown ssl-mode: it is one of ${sslModes.join(", ")}`);
    if (hostname === "" && socketPath === undefined) throw new BadAddress("names no host");
    const decoded = decodePercents({ user: username, password, database: pathname.slice(1) });
    if (decoded.database === "") throw new BadAddress("names no database");
    const place = socketPath ?? `${hostname}:${port || 3306}`;
    return {
      ...decoded,
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port || 3306),
      socketPath,
      table,
      sslMode,
      name: [place, decoded.database, ...(table === undefined ? [] : [table])].join("/"),
    };
  },
};
