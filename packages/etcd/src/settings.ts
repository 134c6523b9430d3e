import { type ChannelCredentials, credentials } from "@grpc/grpc-js";
import { assertOptions, checkInteger, checkType } from "@holdfast/core/node";
import { endingWithChannel } from "./credentials.ts";
import type { EtcdNodeOptions, EtcdTlsOptions } from "./options.ts";

/** One member of the cluster. */
export interface Endpoint {
  /** The address without its scheme, such as `127.0.0.1:2379`. */
  readonly address: string;
  readonly usesTls: boolean;
  readonly credentials: ChannelCredentials;
}

/** The options of a node, complete and checked. */
export interface Settings {
  readonly endpoints: readonly [Endpoint, ...Endpoint[]];
  readonly name: string;
  readonly prefix: string;
  readonly user: { readonly name: string; readonly password: string } | undefined;
  readonly maxTxnOps: number;
  readonly verifyServer: boolean;
}

const names = ["endpoints", "name", "prefix", "tls", "username", "password", "maxTxnOps", "verifyServer"];
const endpointForm = '"http://host:port", "https://host:port" or "host:port"';

/**
 * Checks the options and fills in the defaults.
 *
 * @throws {TypeError | RangeError} naming the option that is wrong
 */
export function parseOptions(options: EtcdNodeOptions): Settings {
  assertOptions(options, names, "etcdNode");
  const { prefix = "lock/", tls, username, password, maxTxnOps = 128, verifyServer = true } = options;
  checkType("prefix", "string", prefix);
  checkInteger("maxTxnOps", maxTxnOps);
  checkType("verifyServer", "boolean", verifyServer);
  if (maxTxnOps < 3)
    throw new RangeError("maxTxnOps must be at least 3: a resource takes two operations, the floor one");
  if ((username === undefined) !== (password === undefined)) {
    throw new TypeError("username and password must be given together");
  }
  const secure = tls && tlsCredentials(tls);
  const given = typeof options.endpoints === "string" ? [options.endpoints] : options.endpoints;
  if (!Array.isArray(given)) throw new TypeError(`endpoints must be ${endpointForm}, or an array of those`);
  const [first, ...others] = given.map((endpoint) => parseEndpoint(endpoint, secure));
  if (first === undefined) throw new RangeError("endpoints must name at least one member of the cluster");
  const { name = `etcd ${first.address}` } = options;
  checkType("name", "string", name);
  const user = parseUser(username, password);
  return { endpoints: [first, ...others], name, prefix, user, maxTxnOps, verifyServer };
}

function parseUser(name: string | undefined, password: string | undefined): Settings["user"] {
  if (name === undefined || password === undefined) return undefined;
  checkType("username", "string", name);
  checkType("password", "string", password);
  return { name, password };
}

/** No error shows the endpoint: it may be a URL with a password. */
function parseEndpoint(endpoint: unknown, secure: ChannelCredentials | undefined): Endpoint {
  checkType("each of endpoints", "string", endpoint);
  const text = endpoint as string;
  const hasScheme = text.includes("://");
  const url = parseUrl(hasScheme ? text : `http://${text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === "") {
    throw new TypeError(`each of endpoints must be ${endpointForm}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new TypeError("endpoints must not contain a user or password: pass username and password");
  }
  if (/[?#]/.test(text) || url.pathname !== "/") throw new TypeError(`each of endpoints must be ${endpointForm}`);
  if (hasScheme && url.protocol === "http:" && secure) {
    throw new TypeError("tls is given, but an endpoint starts with http://: write https://");
  }
  // URL drops the default port of its scheme, which is not etcd's.
  const port = /:(\d+)\/?$/.exec(text)?.[1] ?? "2379";
  const usesTls = url.protocol === "https:" || secure !== undefined;
  return {
    address: `${url.hostname}:${port}`,
    usesTls,
    credentials: endingWithChannel(usesTls ? (secure ?? credentials.createSsl()) : credentials.createInsecure()),
  };
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function tlsCredentials(tls: EtcdTlsOptions): ChannelCredentials {
  assertOptions(tls, ["ca", "cert", "key"], "tls");
  const pem = (name: "ca" | "cert" | "key"): Buffer | null => {
    const value = tls[name];
    if (value === undefined) return null;
    if (typeof value === "string") return Buffer.from(value);
    if (value instanceof Uint8Array) return Buffer.from(value);
    throw new TypeError(`tls.${name} must be a string or bytes in PEM format`);
  };
  const [ca, key, cert] = [pem("ca"), pem("key"), pem("cert")];
  if ((key === null) !== (cert === null)) throw new TypeError("tls.cert and tls.key must be given together");
  try {
    return credentials.createSsl(ca, key, cert);
  } catch (cause) {
    throw new TypeError("tls cannot be used: ca, cert and key must be in PEM format, and the key must match", {
      cause,
    });
  }
}
