import type { AcquireReply, ExtendReply, NodeView, ReleaseReply } from "@holdfast/core";
import type { NodeMistake } from "./mistake.ts";

/** Mistakes in the shape of an answer, or in how a request is treated. */
export const brokenReplies: readonly NodeMistake[] = [
  {
    mistake: "answers the fence as a text",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: (node) => ({
      async acquire(request) {
        const reply = await node.acquire(request);
        return (reply.granted ? { ...reply, fence: String(reply.fence) } : reply) as AcquireReply;
      },
    }),
  },
  {
    mistake: "answers OK, as the server did",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: (node) => ({
      acquire: async (request) => ((await node.acquire(request)).granted ? "OK" : null) as unknown as AcquireReply,
    }),
  },
  {
    mistake: "never answers",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: () => ({ acquire: () => new Promise(() => {}) }),
  },
  {
    mistake: "names a wait below nothing, as a server does that knows of no ttl",
    caughtBy: "acquire() denies while another owner holds the resource, whichever client asks",
    breakIt: (node) => ({
      async acquire(request) {
        const reply = await node.acquire(request);
        return reply.granted ? reply : { granted: false, retryAfterMs: -1 };
      },
    }),
  },
  {
    mistake: "says nothing of rejoining where it is not held",
    caughtBy: "extend() without rejoin of a claim never made changes nothing",
    breakIt: (node) => ({
      async extend(request) {
        const reply = await node.extend(request);
        return (reply.held ? reply : { held: false }) as ExtendReply;
      },
    }),
  },
  {
    mistake: "answers a release with the number of freed resources",
    caughtBy: "release() frees the owner's claim for the next owner",
    breakIt: (node) => ({
      release: async (request) =>
        ({ released: Number((await node.release(request)).released) }) as unknown as ReleaseReply,
    }),
  },
  {
    mistake: "inspects what is free with an owner that is undefined",
    caughtBy: "inspect() of a resource never claimed tells that it is free, with fence 0",
    sees: "inspect",
    breakIt: (node) => ({
      async inspect(resource) {
        const { owner, ...view } = await node.inspect(resource);
        return { ...view, owner: owner ?? undefined } as NodeView;
      },
    }),
  },
  {
    mistake: "empties the list of resources that it was given",
    caughtBy: "acquire() grants a resource that was never claimed",
    breakIt: (node) => ({
      acquire: ({ resources, ...rest }) => node.acquire({ ...rest, resources: (resources as string[]).splice(0) }),
    }),
  },
  {
    mistake: "takes a ttl that is no number of milliseconds for the next best",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      acquire: (request) => node.acquire({ ...request, ttlMs: Math.max(1, Math.round(request.ttlMs) || 1) }),
    }),
  },
  {
    mistake: "grants a claim on nothing",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      acquire: async (request) =>
        request.resources?.length === 0 ? { granted: true, fence: request.fenceHint } : node.acquire(request),
    }),
  },
  {
    mistake: "extends for an owner without a name",
    caughtBy: "extend() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      extend: async (request) => (request.owner ? node.extend(request) : { held: false, rejoined: false }),
    }),
  },
  {
    mistake: "takes over from an owner that is no text",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      async acquire({ takeover, ...request }) {
        return node.acquire(takeover ? { ...request, takeover: String(takeover) } : request);
      },
    }),
  },
  {
    mistake: "puts a waiter that is no text into the line",
    caughtBy: "acquire() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      async acquire({ waiter, ...request }) {
        return node.acquire(waiter ? { ...request, waiter: String(waiter) } : request);
      },
    }),
  },
  {
    mistake: "rejoins for whatever JavaScript takes for true",
    caughtBy: "extend() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({ extend: (request) => node.extend({ ...request, rejoin: Boolean(request.rejoin) }) }),
  },
  {
    mistake: "releases for an owner without a name",
    caughtBy: "release() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({
      release: async (request) => (request.owner ? node.release(request) : { released: false }),
    }),
  },
  {
    mistake: "undoes for whatever JavaScript takes for true",
    caughtBy: "release() rejects a malformed request, and changes nothing",
    breakIt: (node) => ({ release: (request) => node.release({ ...request, undo: Boolean(request.undo) }) }),
  },
];
