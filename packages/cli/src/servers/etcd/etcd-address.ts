import { BadAddress, decodePercents } from "../server.ts";

/** The address of an etcd cluster, and the login. */
export interface EtcdAddress {
  /** The members, as `host:port`. */
  readonly hosts: readonly string[];
  /** Whether the connections are encrypted. */
  readonly isTls: boolean;
  readonly username?: string;
  readonly password?: string;
}

const scheme = /^etcds?:\/\//i;

/** Parses an address. See `ServerKind.parse`. */
export function parseEtcdAddress(text: string): EtcdAddress {
  const rest = text.replace(scheme, "");
  if (/[?#]/.test(rest)) throw new BadAddress("has unknown parameters");
  const [, login = "", places = ""] = /^(?:([^@]*)@)?([^@/]*)\/?$/.exec(rest) ?? [];
  const hosts = places.split(",").map(hostOf);
  const [, user = "", secret = ""] = /^([^:]*):?(.*)$/.exec(login) ?? [];
  const { username, password } = decodePercents({ username: user, password: secret });
  if ((username === "") !== (password === "")) throw new BadAddress("must name both a user and a password, or neither");
  return {
    hosts,
    isTls: /^etcds:/i.test(text),
    ...(username !== "" && { username, password }),
  };
}

function hostOf(place: string): string {
  const url = `http://${place}`;
  if (place === "") throw new BadAddress("names no host");
  if (!URL.canParse(url) || /\s/.test(place)) throw new BadAddress("is not the address of a cluster");
  const port = /:(\d+)$/.exec(place)?.[1] ?? "2379"; // URL omits the default port of its scheme
  return `${new URL(url).hostname}:${port}`;
}
