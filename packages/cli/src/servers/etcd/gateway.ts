import { once } from "node:events";
import { type IncomingMessage, request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { text } from "node:stream/consumers";
import type { TlsOptions } from "../server.ts";
import type { EtcdAddress } from "./etcd-address.ts";

/** The reply of a member. */
export type Reply = Readonly<Record<string, unknown>>;

/**
 * Calls a method of one member over the JSON interface of the cluster, for what locks do not need. The path is such as
 * `maintenance/status`. Returns null if the member refuses or does not reply.
 */
export type Gateway = (host: string, path: string, body?: object) => Promise<Reply | null>;

/** Returns the interface of a cluster. Each call opens a connection of its own. */
export function gatewayTo({ isTls, username, password }: EtcdAddress, tls: TlsOptions, timeoutMs: number): Gateway {
  let token: Promise<string> | undefined;
  const send = async (host: string, path: string, body: object, authorization: string): Promise<Reply | null> => {
    const request = isTls ? requestTls : requestPlain;
    const headers = { "content-type": "application/json", ...(authorization !== "" && { authorization }) };
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const url = `${isTls ? "https" : "http"}://${host}/v3/${path}`;
      const sent = request(url, { method: "POST", headers, agent: false, signal, ...(isTls && tls) });
      sent.end(JSON.stringify(body));
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      sent.on("error", () => {}); // of a connection that is lost later: reading the response fails, too
      const reply = await text(response);
      return response.statusCode === 200 ? JSON.parse(reply) : null;
    } catch {
      return null;
    }
  };
  const logIn = async (host: string): Promise<string> => {
    if (username === undefined) return "";
    const reply = await send(host, "auth/authenticate", { name: username, password }, "");
    return String(reply?.token ?? "");
  };
  return async (host, path, body = {}) => {
    token ??= logIn(host);
    return send(host, path, body, await token);
  };
}
