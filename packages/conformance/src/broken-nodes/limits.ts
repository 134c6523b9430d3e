import { EpochError } from "@holdfast/core";
import { minuteMs } from "../world/durations.ts";
import { renamedNode } from "../world/renamed-node.ts";
import { type BrokenNode, broken, on, violating, withGrants } from "./broken-node.ts";

/** A correct node, which is wrong about its limits. */
const unchanged = () => ({});

const tenResources = { max: 10, reason: "the store has small transactions" };
const shortNames = { max: 250, reason: "the store has short keys" };

/** Nodes that declare a limit and violate it, or declare nonsense. */
export const brokenLimits: readonly BrokenNode[] = [
  ...broken({
    "the node has a name, and suggests a timeout in whole milliseconds, if any, the same for both clients": {
      "suggests a timeout of zero": () => ({ suggestedTimeoutMs: 0 }),
    },
  }),
  ...violating("severalResources", "the store has transactions over one key", {
    "acquire() rejects a claim on several resources, and changes nothing": {
      "declares that it claims one resource at a time, and claims the first before it rejects": on(
        "acquire",
        async (request, node) => {
          const reply = await node.acquire({ ...request, resources: request.resources.slice(0, 1) });
          if (request.resources.length > 1) throw new Error("one resource at a time");
          return reply;
        },
      ),
    },
  }),
  ...violating("takeover", "the store has no compare-and-set", {
    "acquire() with takeover is denied like any other claim, and changes nothing": {
      "declares that it cannot take over, and takes over": unchanged,
    },
  }),
  ...violating("rejoin", "the store cannot tell", {
    "extend() with rejoin of a free resource returns neither held nor rejoined, and changes nothing": {
      "declares that it cannot rejoin, and rejoins": unchanged,
    },
  }),
  ...violating("sharing", "all claims are exclusive", {
    "acquire() of a shared claim is denied while another owner holds the resource, and denies it to others": {
      "declares that it ignores `shared`, and shares claims": unchanged,
    },
    "acquire() of a shared claim advances the counter, as any grant does": {
      "declares that it ignores `shared`, and leaves the counter alone for shared claims": (node) =>
        withGrants(node, (fence, request) => (request.shared ? Math.max(1, fence - 1) : fence)),
    },
    "extend() of a shared claim keeps it, and rejoins nothing while another owner holds the resource": {
      "declares that it ignores `shared`, and rejoins a shared claim next to another": unchanged,
    },
  }),
  ...violating("floor", "counters are raised one by one", {
    "the node offers neither raiseFloor() nor scan()": {
      "declares that it cannot keep a floor, and has raiseFloor() and scan()": () => ({
        raiseFloor: async (request) => request,
        scan: async () => ({ counters: 0, highest: 0, claims: [] }),
      }),
    },
    "acquire() with an epoch is granted and denied as without one": {
      "declares that it cannot keep a floor, and refuses later epochs": on("acquire", async (request, node) => {
        if ((request.epoch ?? 1) > 2) throw new EpochError(1, request.epoch ?? 1);
        return node.acquire(request);
      }),
    },
  }),
  ...violating("longTtl", "leases last at most an hour", {
    "acquire() rejects a claim for thirty days, and claims nothing": {
      "declares that it cannot keep a claim for thirty days, and cuts it short": on("acquire", (request, node) =>
        node.acquire({ ...request, ttlMs: Math.min(request.ttlMs, 60 * minuteMs) }),
      ),
    },
  }),
  ...violating("exactTtl", "the store counts tenths of seconds", {
    "a claim may last somewhat longer than its ttl, never shorter, and ends": {
      "declares that it ends claims late, and ends them early": on("acquire", (request, node) =>
        node.acquire({ ...request, ttlMs: Math.max(1, request.ttlMs - 100) }),
      ),
    },
  }),
  ...violating("manyResources", tenResources, {
    "acquire() rejects a claim on more resources than the limit, and changes nothing": {
      "declares that it claims at most ten resources at a time, and cuts longer lists": on("acquire", (request, node) =>
        node.acquire({ ...request, resources: request.resources?.slice(0, 10) }),
      ),
    },
  }),
  ...violating("longNames", shortNames, {
    "acquire() rejects a name that is too long, and changes nothing": {
      "declares that names have at most 250 bytes, and cuts longer ones": (node) =>
        renamedNode(node, (name) => name.slice(0, 250)),
    },
  }),
  ...violating("unrelatedResources", "they are in different places", {
    "acquire() rejects a claim on unrelated resources, names them, and changes nothing": {
      "declares that it claims only related resources, and also claims others": unchanged,
    },
  }),
];
