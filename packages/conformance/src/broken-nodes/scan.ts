import type { LockNode, ScannedClaim, ScanPortion, ScanRequest } from "@holdfast/core";
import { longMs } from "../world/durations.ts";
import type { BrokenWrapper } from "./broken-node.ts";

/** Changes each portion. */
function changing(
  node: Required<LockNode>,
  change: (portion: ScanPortion, request: ScanRequest) => ScanPortion | Promise<ScanPortion>,
): Partial<LockNode> {
  return { scan: async (request) => change(await node.scan(request), request) };
}

/** Changes the claims, which it reads as one portion: a fault must show however the node divides them. */
function withClaims(
  node: Required<LockNode>,
  change: (claims: readonly ScannedClaim[]) => readonly ScannedClaim[],
): Partial<LockNode> {
  return {
    async scan(request) {
      const all = await readAll(node, request);
      return { ...all, claims: change(all.claims) };
    },
  };
}

/** Reads everything, as one portion. */
async function readAll(node: Required<LockNode>, { timeoutMs }: ScanRequest): Promise<ScanPortion> {
  const portions: ScanPortion[] = [];
  for (let cursor: string | undefined; ; ) {
    const portion = await node.scan({ timeoutMs, ...(cursor !== undefined && { cursor }) });
    portions.push(portion);
    cursor = portion.cursor;
    if (cursor === undefined) break;
  }
  return {
    counters: portions.reduce((sum, { counters }) => sum + counters, 0),
    highest: Math.max(...portions.map(({ highest }) => highest)),
    claims: portions.flatMap(({ claims }) => claims),
  };
}

const counters = "scan() reads each counter, whether its claim is in force, released or expired";
const claims = "scan() reads each claim in force with its owner and its remaining time";
const many = "scan() reads thousands of counters and claims, in portions of bounded size";

/** Faults in what `scan` reads. They give too low a floor, or hide the claims of clients that still use old servers. */
export const brokenScans: readonly BrokenWrapper[] = [
  {
    fault: "scans the counters of claimed resources only",
    caughtBy: counters,
    sees: "floor",
    needs: ["inspect", "ownCounters"],
    breakIt: (node) =>
      changing(node, async (portion) => {
        const views = await Promise.all(portion.claims.map(({ resource }) => node.inspect(resource)));
        return { ...portion, counters: views.length, highest: Math.max(0, ...views.map(({ fence }) => fence)) };
      }),
  },
  {
    fault: "scans what it read the first time",
    caughtBy: counters,
    sees: "floor",
    breakIt(node) {
      let first: Promise<ScanPortion> | undefined;
      return {
        scan(request) {
          first ??= readAll(node, request);
          return first;
        },
      };
    },
  },
  {
    fault: "scans the epoch as a counter",
    caughtBy: "scan() reads no counter above the floor if no fence is above it",
    sees: "floor",
    breakIt: (node) =>
      changing(node, async (portion, { timeoutMs }) => {
        const { epoch } = await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs });
        const extra = epoch > 0 ? 1 : 0;
        return { ...portion, counters: portion.counters + extra, highest: Math.max(portion.highest, epoch) };
      }),
  },
  {
    fault: "leaves out the counters as well if the caller wants no claims",
    caughtBy: "scan() without claims reads the counters, and may leave claims out",
    sees: "floor",
    breakIt: (node) =>
      changing(node, (portion, request) =>
        request.claims === false ? { ...portion, counters: 0, highest: 0, claims: [] } : portion,
      ),
  },
  {
    fault: "scans no claims",
    caughtBy: claims,
    sees: "floor",
    breakIt: (node) => withClaims(node, () => []),
  },
  {
    fault: "scans remaining times in seconds",
    caughtBy: claims,
    sees: "floor",
    breakIt: (node) =>
      withClaims(node, (read) => read.map((claim) => ({ ...claim, remainingMs: claim.remainingMs / 1_000 }))),
  },
  {
    fault: "scans claims without their labels",
    caughtBy: claims,
    sees: "floor",
    breakIt: (node) =>
      withClaims(node, (read) => read.map((claim) => ({ ...claim, owner: claim.owner.replace(/:.*/, "") }))),
  },
  {
    fault: "scans claims that have ended",
    caughtBy: "scan() reads no claim that was released or has expired",
    sees: "floor",
    breakIt(node) {
      const seen: ScannedClaim[] = [];
      return {
        ...withClaims(node, (read) => {
          const missing = seen.filter((claim) => !read.some(({ resource }) => resource === claim.resource));
          return [...read, ...missing];
        }),
        async acquire(request) {
          const reply = await node.acquire(request);
          const claimOn = (resource: string) => ({ resource, owner: request.owner, remainingMs: request.ttlMs });
          if (reply.granted) seen.push(...request.resources.map(claimOn));
          return reply;
        },
      };
    },
  },
  {
    fault: "scans one claim of each owner",
    caughtBy: "scan() reads a claim on each of several resources",
    sees: "floor",
    breakIt: (node) => withClaims(node, (read) => [...new Map(read.map((claim) => [claim.owner, claim])).values()]),
  },
  {
    fault: "scans one sharer of each resource",
    caughtBy: "scan() reads the claim of every sharer with its own remaining time, and no ended one",
    sees: "floor",
    breakIt: (node) => withClaims(node, (read) => [...new Map(read.map((claim) => [claim.resource, claim])).values()]),
  },
  {
    fault: "scans the longest remaining time for all sharers of a resource",
    caughtBy: "scan() reads the claim of every sharer with its own remaining time, and no ended one",
    sees: "floor",
    breakIt: (node) =>
      withClaims(node, (read) =>
        read.map((claim) => {
          const others = read.filter(({ resource }) => resource === claim.resource);
          return { ...claim, remainingMs: Math.max(...others.map(({ remainingMs }) => remainingMs)) };
        }),
      ),
  },
  {
    fault: "scans a hundred sharers at most",
    caughtBy: "scan() reads the claims of all of two hundred sharers",
    sees: "floor",
    breakIt: (node) => withClaims(node, (read) => read.slice(0, 100)),
  },
  {
    fault: "scans names in lower case",
    caughtBy: "scan() reads names and owners exactly as they were given",
    sees: "floor",
    breakIt: (node) =>
      withClaims(node, (read) => read.map((claim) => ({ ...claim, resource: claim.resource.toLowerCase() }))),
  },
  {
    fault: "scans only names that are not patterns",
    caughtBy: "scan() reads names and owners exactly as they were given",
    sees: "floor",
    breakIt: (node) => withClaims(node, (read) => read.filter(({ resource }) => !/[*?[\]\\]/.test(resource))),
  },
  {
    fault: "advances the counters that it scans",
    caughtBy: "scan() changes neither claims nor counters, nor the floor",
    sees: "floor",
    breakIt: (node) => ({
      async scan({ timeoutMs }) {
        const all = await readAll(node, { timeoutMs });
        for (const { resource, owner, remainingMs } of all.claims) {
          const request = { resources: [resource], owner, timeoutMs, ttlMs: Math.ceil(remainingMs), rejoin: false };
          await node.extend({ ...request, fence: all.highest + 1 });
        }
        return all;
      },
    }),
  },
  {
    fault: "prolongs the claims that it scans",
    caughtBy: "scan() does not prolong claims",
    sees: "floor",
    breakIt: (node) =>
      changing(node, async (portion, { timeoutMs }) => {
        for (const { resource, owner } of portion.claims) {
          await node.extend({ resources: [resource], owner, timeoutMs, ttlMs: longMs, fence: 1, rejoin: false });
        }
        return portion;
      }),
  },
  {
    fault: "starts again when it does not know a cursor",
    caughtBy: "scan() rejects a cursor that it did not make, and changes nothing",
    sees: "floor",
    breakIt: (node) => ({
      scan: (request) => node.scan(request).catch(() => node.scan({ timeoutMs: request.timeoutMs })),
    }),
  },
  {
    fault: "scans the first portion only",
    caughtBy: many,
    sees: "floor",
    breakIt: (node) => changing(node, ({ cursor: _, ...portion }) => portion),
  },
  {
    fault: "scans everything in one portion",
    caughtBy: many,
    sees: "floor",
    breakIt: (node) => ({ scan: (request) => readAll(node, request) }),
  },
  {
    fault: "scans without an end",
    caughtBy: "scan() of a fresh node reads no counter and no claim",
    sees: "floor",
    breakIt: (node) => ({
      async scan({ cursor, timeoutMs }) {
        const portion = await node.scan({ timeoutMs, ...(cursor !== undefined && cursor !== "again" && { cursor }) });
        return { cursor: "again", ...portion };
      },
    }),
  },
  {
    fault: "continues a series at the portion after the latest one, whatever the cursor",
    caughtBy: "scan() reads a portion again with the same cursor, and misses nothing",
    sees: "floor",
    breakIt(node) {
      const positions = new Map<string, string>();
      let started = 0;
      return {
        async scan({ cursor = `series ${++started}`, timeoutMs }) {
          const position = positions.get(cursor);
          const portion = await node.scan({ timeoutMs, ...(position !== undefined && { cursor: position }) });
          if (portion.cursor === undefined) return portion;
          positions.set(cursor, portion.cursor);
          return { ...portion, cursor };
        },
      };
    },
  },
  {
    fault: "scans by position among the claims, which shift when others end",
    caughtBy: "scan() reads what lasts, while resources are claimed and released between its portions",
    sees: "floor",
    breakIt: (node) => ({
      async scan({ cursor = "0", timeoutMs }) {
        const { claims: all, ...counted } = await readAll(node, { timeoutMs });
        const end = Number(cursor) + 500;
        const sorted = [...all].sort((one, other) => (one.resource < other.resource ? -1 : 1));
        const portion = { ...counted, claims: sorted.slice(Number(cursor), end) };
        return end < sorted.length ? { ...portion, cursor: String(end) } : portion;
      },
    }),
  },
  {
    fault: "scans the latest changes first, so that an extension moves a claim to what was read already",
    caughtBy: "scan() reads the claims that are extended between its portions",
    sees: "floor",
    breakIt(node) {
      const changes = new Map<string, number>();
      let latest = 0;
      const note = ({ resources }: { readonly resources: readonly string[] }): void => {
        for (const resource of resources) changes.set(resource, ++latest);
      };
      const changeOf = ({ resource }: ScannedClaim): number => changes.get(resource) ?? 0;
      return {
        acquire(request) {
          note(request);
          return node.acquire(request);
        },
        extend(request) {
          note(request);
          return node.extend(request);
        },
        // The claims come first, and then the portions of the correct node for its counters.
        async scan({ cursor = "Infinity", timeoutMs }) {
          if (cursor.startsWith("after the claims")) {
            const position = cursor.slice("after the claims".length);
            const portion = await node.scan({ timeoutMs, ...(position !== "" && { cursor: position }) });
            const next = portion.cursor !== undefined && { cursor: `after the claims${portion.cursor}` };
            return { ...portion, claims: [], ...next };
          }
          const { claims: all } = await readAll(node, { timeoutMs });
          const rest = all.filter((claim) => changeOf(claim) < Number(cursor));
          const read = rest.sort((one, other) => changeOf(other) - changeOf(one)).slice(0, 500);
          const next = read.length < rest.length ? String(read.slice(-1).map(changeOf)) : "after the claims";
          return { counters: 0, highest: 0, claims: read, cursor: next };
        },
      };
    },
  },
  {
    fault: "misses the claims that were made after the first release",
    caughtBy: "scan() reads everything that lasts while other resources are claimed and released",
    sees: "floor",
    breakIt(node) {
      const late = new Set<string>();
      let isLate = false;
      return {
        ...withClaims(node, (read) => read.filter(({ resource }) => !late.has(resource))),
        async acquire(request) {
          if (isLate) for (const resource of request.resources) late.add(resource);
          return node.acquire(request);
        },
        release(request) {
          isLate = true;
          return node.release(request);
        },
      };
    },
  },
  {
    fault: "scans nothing while its server is unreachable",
    caughtBy: "raiseFloor() and scan() reject in time while the server is unreachable",
    sees: "floor",
    needs: ["server"],
    breakIt: (node) => ({
      scan: (request) => node.scan(request).catch(() => ({ counters: 0, highest: 0, claims: [] })),
    }),
  },
];
