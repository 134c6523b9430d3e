import { once } from "node:events";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { text } from "node:stream/consumers";
import type { TlsOptions } from "../server.ts";
import type { EtcdAddress } from "./etcd-address.ts";

/** The JSON interface of the members of a cluster, for what locks do not need. */
export interface Gateway {
  /**
   * Calls a method of one member.
   *
   * @param path such as `maintenance/status`
   * @throws {Error} with the message of the member, or the reason why there is no reply
   */
  call(host: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>>;
}

/** Returns the interface of a cluster. Each call opens a connection of its own. */
export function gatewayTo({ isTls, username, password }: EtcdAddress, tls: TlsOptions, timeoutMs: number): Gateway {
  let token: Promise<string> | undefined;
  const send = (host: string, path: string, body: object, authorization: string) =>
    post(`${isTls ? "https" : "http"}://${host}/v3/${path}`, body, authorization, isTls ? tls : {}, timeoutMs);
  const logIn = async (host: string): Promise<string> => {
    if (username === undefined) return "";
    const reply = await send(host, "auth/authenticate", { name: username, password }, "").catch(() => ({ token: "" }));
    return String(reply.token ?? "");
  };
  return {
    async call(host, path, body = {}) {
      token ??= logIn(host);
      return send(host, path, body, await token);
    },
  };
}

async function post(
  url: string,
  body: object,
  authorization: string,
  tls: TlsOptions,
  timeoutMs: number,
): Promise<Readonly<Record<string, unknown>>> {
  const request = url.startsWith("https:") ? requestTls : requestPlain;
  const headers = { "content-type": "application/json", ...(authorization !== "" && { authorization }) };
  const signal = AbortSignal.timeout(timeoutMs);
  const sent = request(url, { method: "POST", headers, agent: false, signal, ...tls });
  sent.end(JSON.stringify(body));
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  sent.on("error", () => {}); // of a connection that is lost later: reading the response fails, too
  const reply = parse(await text(response));
  if (response.statusCode === 200 && reply !== undefined) return reply;
  throw new Error(String(reply?.error ?? reply?.message ?? `HTTP status ${response.statusCode}`));
}

function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
