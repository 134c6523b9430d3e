import { EpochError } from "@holdfast/core";
import { minuteMs } from "../world/durations.ts";
import { renamedNode } from "../world/renamed-node.ts";
import type { BrokenWrapper } from "./broken-node.ts";

/** Nodes that declare a limit and violate it, or declare nonsense. */
export const brokenLimits: readonly BrokenWrapper[] = [
  {
    fault: "suggests a timeout of zero",
    caughtBy: "the node suggests a timeout in whole milliseconds, if it suggests one, and both clients agree",
    breakIt: () => ({ suggestedTimeoutMs: 0 }),
  },
  {
    fault: "declares that it claims one resource at a time, and claims the first of several before it rejects",
    cannot: { severalResources: "the store has transactions over one key" },
    caughtBy: "acquire() rejects a claim on several resources, and changes nothing",
    breakIt: (node) => ({
      async acquire(request) {
        const reply = await node.acquire({ ...request, resources: request.resources.slice(0, 1) });
        if (request.resources.length > 1) throw new Error("one resource at a time");
        return reply;
      },
    }),
  },
  {
    fault: "declares that it cannot take over, and takes over",
    cannot: { takeover: "the store has no compare-and-set" },
    caughtBy: "acquire() with takeover is denied like any other claim, and changes nothing",
    breakIt: () => ({}),
  },
  {
    fault: "declares that it cannot rejoin, and rejoins",
    cannot: { rejoin: "the store cannot tell" },
    caughtBy: "extend() with rejoin of a free resource returns neither held nor rejoined, and changes nothing",
    breakIt: () => ({}),
  },
  {
    fault: "declares that it ignores `shared`, and shares claims",
    cannot: { sharing: "all claims are exclusive" },
    caughtBy: "acquire() of a shared claim is denied while another owner holds the resource, and denies it to others",
    breakIt: () => ({}),
  },
  {
    fault: "declares that it ignores `shared`, and leaves the counter alone for shared claims",
    cannot: { sharing: "all claims are exclusive" },
    caughtBy: "acquire() of a shared claim advances the counter, as any grant does",
    breakIt: (node) => ({
      async acquire(request) {
        const reply = await node.acquire(request);
        return reply.granted && request.shared ? { ...reply, fence: Math.max(1, reply.fence - 1) } : reply;
      },
    }),
  },
  {
    fault: "declares that it ignores `shared`, and rejoins a shared claim next to another",
    cannot: { sharing: "all claims are exclusive" },
    caughtBy: "extend() of a shared claim keeps it, and rejoins nothing while another owner holds the resource",
    breakIt: () => ({}),
  },
  {
    fault: "declares that it cannot keep a floor, and has raiseFloor() and scan()",
    cannot: { floor: "counters are raised one by one" },
    needs: ["floor"],
    caughtBy: "the node offers neither raiseFloor() nor scan()",
    breakIt: () => ({}),
  },
  {
    fault: "declares that it cannot keep a floor, and refuses later epochs",
    cannot: { floor: "counters are raised one by one" },
    caughtBy: "acquire() with an epoch is granted and denied as without one",
    breakIt: (node) => ({
      async acquire(request) {
        if ((request.epoch ?? 1) > 2) throw new EpochError(1, request.epoch ?? 1);
        return node.acquire(request);
      },
    }),
  },
  {
    fault: "declares that it cannot keep a claim for thirty days, and cuts it short instead of rejecting it",
    cannot: { longTtl: "leases last at most an hour" },
    caughtBy: "acquire() rejects a claim for thirty days, and claims nothing",
    breakIt: (node) => ({
      acquire: (request) => node.acquire({ ...request, ttlMs: Math.min(request.ttlMs, 60 * minuteMs) }),
    }),
  },
  {
    fault: "declares that it ends claims late, and ends them early",
    cannot: { exactTtl: "the store counts tenths of seconds" },
    caughtBy: "a claim may last somewhat longer than its ttl, never shorter, and ends",
    breakIt: (node) => ({
      acquire: (request) => node.acquire({ ...request, ttlMs: Math.max(1, request.ttlMs - 100) }),
    }),
  },
  {
    fault: "declares that it claims at most ten resources at a time, and cuts longer lists instead of rejecting them",
    cannot: { manyResources: { max: 10, reason: "the store has small transactions" } },
    caughtBy: "acquire() rejects a claim on more resources than the limit, and changes nothing",
    breakIt: (node) => ({
      acquire: (request) => node.acquire({ ...request, resources: request.resources?.slice(0, 10) }),
    }),
  },
  {
    fault: "declares that names have at most 250 bytes, and cuts longer ones instead of rejecting them",
    cannot: { longNames: { max: 250, reason: "the store has short keys" } },
    caughtBy: "acquire() rejects a name that is too long, and changes nothing",
    breakIt: (node) => renamedNode(node, (name) => name.slice(0, 250)),
  },
  {
    fault: "declares that it claims only related resources, and also claims others",
    cannot: { unrelatedResources: "they are in different places" },
    related: (resource) => resource,
    caughtBy: "acquire() rejects a claim on unrelated resources, names them, and changes nothing",
    breakIt: () => ({}),
  },
];
