import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import type { AddressInfo } from "node:net";

/** The content and token of a path. */
interface Entry {
  content: string | undefined;
  /** The newest token shown. */
  fence: number;
}

/** A running service. */
export interface FencedService {
  /** Its address. */
  readonly url: string;
  close(): Promise<void>;
}

const contentMax = 1_048_576;

/**
 * Starts a service on 127.0.0.1 that stores a text under each path (GET, PUT), and refuses stale writers. Each request
 * shows the token of its lock in the header `Fence`, and a path refuses older tokens than the newest it was shown.
 *
 * @param tokens whether to refuse requests without a token, or to accept them until all clients show one
 */
export async function startFencedService(tokens: "required" | "optional"): Promise<FencedService> {
  const entries = new Map<string, Entry>();

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = "", url: path = "" } = request;
    if (method !== "GET" && method !== "PUT") return problem(response, 405, "use GET or PUT", { allow: "GET, PUT" });
    const content = await contentOf(request);
    if (content === undefined) return problem(response, 413, `there is room for ${contentMax} bytes`);
    const fence = fenceOf(request);
    if (Number.isNaN(fence)) return problem(response, 400, "the header Fence must be a positive integer");
    if (fence === undefined && tokens === "required") {
      return problem(response, 428, "show the token of your lock in the header Fence");
    }
    // No await from here on, so that no other request gets between the check and the write.
    const entry = entries.get(path) ?? { content: undefined, fence: 0 };
    if (fence !== undefined && fence < entry.fence) {
      const detail = `${path} was shown fence ${entry.fence} already, and ${fence} is older: the lock has passed on`;
      return problem(response, 409, detail, {}, { fence, newestFence: entry.fence });
    }
    entry.fence = fence ?? entry.fence;
    if (method === "PUT") entry.content = content;
    entries.set(path, entry);
    if (method === "PUT") response.writeHead(204).end();
    else if (entry.content === undefined) problem(response, 404, `there is nothing at ${path}`);
    else response.writeHead(200, { "content-type": "text/plain; charset=utf-8" }).end(entry.content);
  };
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy()); // the client has gone
  });
  return listening(server);
}

/** Returns the token; undefined if there is none, NaN if it is invalid. */
function fenceOf({ headers }: IncomingMessage): number | undefined {
  const { fence } = headers;
  if (fence === undefined) return undefined;
  const number = /^\d+$/.test(String(fence)) ? Number(fence) : Number.NaN;
  return Number.isSafeInteger(number) && number > 0 ? number : Number.NaN;
}

/** Returns the content; undefined if it is too long. */
async function contentOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length <= contentMax) chunks.push(chunk);
  }
  return length <= contentMax ? Buffer.concat(chunks).toString() : undefined;
}

/** Replies with a problem (RFC 9457). */
function problem(
  response: ServerResponse,
  status: number,
  detail: string,
  headers: Record<string, string> = {},
  more: Record<string, number> = {},
): void {
  response.writeHead(status, { "content-type": "application/problem+json", ...headers });
  response.end(JSON.stringify({ type: "about:blank", title: STATUS_CODES[status], status, detail, ...more }));
}

async function listening(server: Server): Promise<FencedService> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
