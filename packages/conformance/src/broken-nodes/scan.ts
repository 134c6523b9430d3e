import type { LockNode, ScannedClaim, ScanPortion, ScanRequest } from "@holdfast/core/node";
import { longMs } from "../world/durations.ts";
import { type BrokenNode, brokenIf, on } from "./broken-node.ts";

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

/** Faults in what `scan` reads. They give too low a floor, or hide the claims of clients that still use old servers. */
export const brokenScans: readonly BrokenNode[] = [
  ...brokenIf(["floor", "inspect", "ownCounters"], {
    "scan() reads each counter, whether its claim is in force, released or expired": {
      "scans the counters of claimed resources only": (node) =>
        changing(node, async (portion) => {
          const views = await Promise.all(portion.claims.map(({ resource }) => node.inspect(resource)));
          return { ...portion, counters: views.length, highest: Math.max(0, ...views.map(({ fence }) => fence)) };
        }),
    },
  }),
  ...brokenIf(["floor"], {
    "scan() reads no counter above the floor if no fence is above it": {
      "scans the epoch as a counter": (node) =>
        changing(node, async (portion, { timeoutMs }) => {
          const { epoch } = await node.raiseFloor({ floor: 0, epoch: 0, timeoutMs });
          const extra = epoch > 0 ? 1 : 0;
          return { ...portion, counters: portion.counters + extra, highest: Math.max(portion.highest, epoch) };
        }),
    },
    "scan() without claims reads the counters, and may leave claims out": {
      "leaves out the counters as well if the caller wants no claims": (node) =>
        changing(node, (portion, request) =>
          request.claims === false ? { ...portion, counters: 0, highest: 0, claims: [] } : portion,
        ),
    },
    "scan() reads each claim in force with its owner and its remaining time": {
      "scans no claims": (node) => withClaims(node, () => []),
      "scans remaining times in seconds": (node) =>
        withClaims(node, (read) => read.map((claim) => ({ ...claim, remainingMs: claim.remainingMs / 1_000 }))),
      "scans one claim of each owner": (node) =>
        withClaims(node, (read) => [...new Map(read.map((claim) => [claim.owner, claim])).values()]),
      "scans claims without their labels": (node) =>
        withClaims(node, (read) => read.map((claim) => ({ ...claim, owner: claim.owner.replace(/:.*/, "") }))),
    },
    "scan() reads no claim that was released or has expired": {
      "scans claims that have ended": (node) => {
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
    "scan() reads the claim of every sharer with its own remaining time, and no ended one": {
      "scans one sharer of each resource": (node) =>
        withClaims(node, (read) => [...new Map(read.map((claim) => [claim.resource, claim])).values()]),
    },
    "scan() reads the claims of all of two hundred sharers": {
      "scans a hundred sharers at most": (node) => withClaims(node, (read) => read.slice(0, 100)),
    },
    "scan() reads names and owners exactly as they were given": {
      "scans names in lower case": (node) =>
        withClaims(node, (read) => read.map((claim) => ({ ...claim, resource: claim.resource.toLowerCase() }))),
      "scans only names that are not patterns": (node) =>
        withClaims(node, (read) => read.filter(({ resource }) => !/[*?[\]\\]/.test(resource))),
    },
    "scan() changes neither claims nor counters, nor the floor": {
      "advances the counters that it scans": on("scan", async ({ timeoutMs }, node) => {
        const all = await readAll(node, { timeoutMs });
        for (const { resource, owner, remainingMs } of all.claims) {
          const request = { resources: [resource], owner, timeoutMs, ttlMs: Math.ceil(remainingMs), rejoin: false };
          await node.extend({ ...request, fence: all.highest + 1 });
        }
        return all;
      }),
    },
    "scan() does not prolong claims": {
      "prolongs the claims that it scans": (node) =>
        changing(node, async (portion, { timeoutMs }) => {
          for (const { resource, owner } of portion.claims) {
            await node.extend({ resources: [resource], owner, timeoutMs, ttlMs: longMs, fence: 1, rejoin: false });
          }
          return portion;
        }),
    },
    "scan() rejects a cursor that it did not make, and changes nothing": {
      "starts again when it does not know a cursor": on("scan", (request, node) =>
        node.scan(request).catch(() => node.scan({ timeoutMs: request.timeoutMs })),
      ),
    },
    "scan() reads thousands of counters and claims, in portions of bounded size": {
      "scans the first portion only": (node) => changing(node, ({ cursor: _, ...portion }) => portion),
      "scans everything in one portion": on("scan", (request, node) => readAll(node, request)),
    },
    "scan() of a fresh node reads no counter and no claim": {
      "scans without an end": on("scan", async ({ cursor, timeoutMs }, node) => {
        const portion = await node.scan({
          timeoutMs,
          ...(cursor !== undefined && cursor !== "again" && { cursor }),
        });
        return { cursor: "again", ...portion };
      }),
    },
    "scan() reads a portion again with the same cursor, and misses nothing": {
      "continues a series at the portion after the latest one, whatever the cursor": (node) => {
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
    "scan() reads what lasts, while resources are claimed, extended and released between its portions": {
      "scans by position among the claims, which shift when others end": on(
        "scan",
        async ({ cursor = "0", timeoutMs }, node) => {
          const { claims: all, ...counted } = await readAll(node, { timeoutMs });
          const end = Number(cursor) + 500;
          const sorted = [...all].sort((one, other) => (one.resource < other.resource ? -1 : 1));
          const portion = { ...counted, claims: sorted.slice(Number(cursor), end) };
          return end < sorted.length ? { ...portion, cursor: String(end) } : portion;
        },
      ),
      "scans the latest changes first, so that an extension moves a claim to what was read already": (node) => {
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
          async scan({ cursor = "Infinity", timeoutMs }) {
            const { claims: all, ...counted } = await readAll(node, { timeoutMs });
            const rest = all.filter((claim) => changeOf(claim) < Number(cursor));
            const read = rest.sort((one, other) => changeOf(other) - changeOf(one)).slice(0, 500);
            const next = read.length < rest.length && { cursor: String(read.slice(-1).map(changeOf)) };
            return { ...counted, claims: read, ...next };
          },
        };
      },
    },
    "scan() reads everything that lasts while other resources are claimed and released": {
      "misses the claims that were made after the first release": (node) => {
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
  }),
  ...brokenIf(["floor", "server"], {
    "raiseFloor() and scan() reject in time while the server is unreachable": {
      "scans nothing while its server is unreachable": on("scan", (request, node) =>
        node.scan(request).catch(() => ({ counters: 0, highest: 0, claims: [] })),
      ),
    },
  }),
];
