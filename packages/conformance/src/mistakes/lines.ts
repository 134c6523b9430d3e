import type { AcquireReply, AcquireRequest, LockNode } from "@holdfast/core";
import type { NodeMistake } from "./mistake.ts";

/**
 * Chooses anew where the right node names somebody.
 *
 * @param choose picks one of all the denials of a line since the waiter was named or granted, the first of them first
 */
function choosing(
  node: LockNode,
  choose: (denials: readonly string[]) => string | undefined,
  lineOf: (resource: string) => string = (resource) => resource,
): Partial<LockNode> {
  const lines = new Map<string, readonly string[]>();
  const change = (resource: string, by: (line: readonly string[]) => readonly string[]): void =>
    void lines.set(lineOf(resource), by(lines.get(lineOf(resource)) ?? []));
  return {
    async acquire(request) {
      const reply = await node.acquire(request);
      const { resources, waiter } = request;
      for (const resource of waiter === undefined ? [] : resources) {
        change(resource, (line) => (reply.granted ? line.filter((each) => each !== waiter) : [...line, `${waiter}`]));
      }
      return reply;
    },
    async release(request) {
      const reply = await node.release(request);
      const [resource] = request.resources as [string];
      const next = reply.next && choose(lines.get(lineOf(resource)) ?? []);
      if (next === undefined) return reply;
      change(resource, (line) => line.filter((each) => each !== next));
      return { ...reply, next };
    },
  };
}

/** Names somebody more: who is noted when a resource is released, at the next release that names nobody by itself. */
function namingLater(node: LockNode, note: (next: string | undefined, waiter?: string) => string | undefined) {
  const noted = new Map<string, string | undefined>();
  return {
    async release(request) {
      const [resource] = request.resources as [string];
      const before = noted.get(resource);
      const reply = await node.release(request);
      noted.set(resource, note(reply.next, request.waiter));
      return reply.next === undefined && before !== undefined && !request.undo ? { ...reply, next: before } : reply;
    },
  } satisfies Partial<LockNode>;
}

/**
 * Does something else where a waiter asks for several resources, some of which are held.
 *
 * @param deny is told which are held, by whomever, and which are free
 */
function denying(
  node: LockNode,
  deny: (request: AcquireRequest, held: readonly string[], free: readonly string[]) => Promise<AcquireReply>,
): Partial<LockNode> {
  return {
    async acquire(request) {
      const { waiter, takeover: _, ...silent } = request;
      if (waiter === undefined || request.resources.length === 1) return node.acquire(request);
      const probe = { ...silent, owner: crypto.randomUUID() };
      const [held, free]: [string[], string[]] = [[], []];
      for (const resource of request.resources) {
        const { granted } = await node.acquire({ ...probe, resources: [resource] });
        (granted ? free : held).push(resource);
      }
      await node.release({ ...probe, undo: true });
      return held.length === 0 ? node.acquire(request) : deny(request, held, free);
    },
  };
}

/** Puts the waiter of a request into the lines of these resources, or takes it out of those of what is free. */
async function enterOrLeave(node: LockNode, request: AcquireRequest, resources: readonly string[], enters: boolean) {
  const { waiter: _, takeover: __, ...silent } = request;
  const freshClaim = (resource: string) => ({ ...silent, owner: crypto.randomUUID(), resources: [resource] });
  const waiting = { waiter: request.waiter as string };
  for (const resource of resources) {
    const claim = freshClaim(resource);
    await node.acquire(enters ? claim : { ...claim, ...waiting });
    if (enters) await node.acquire({ ...freshClaim(resource), ...waiting });
    await node.release({ ...claim, undo: true });
  }
}

/** Mistakes about who stands in a line, and where. */
const brokenPlaces: readonly NodeMistake[] = [
  {
    mistake: "names the last that came first",
    caughtBy: "release() names those who wait in the order of the locks that they came during, each once",
    breakIt: (node) => choosing(node, (denials) => denials.at(-1)),
  },
  {
    mistake: "names those who wait in the order of their values, whenever they came",
    caughtBy: "release() names those who wait in the order of the locks that they came during, each once",
    breakIt: (node) => choosing(node, (denials) => [...denials].sort()[0]),
  },
  {
    mistake: "names those who came during one lock in the order in which it happened to hear of them",
    caughtBy: "release() names those who came during one lock in the order of their values",
    breakIt: (node) => choosing(node, (denials) => denials[0]),
  },
  {
    mistake: "sends who asks again to the end of the line",
    caughtBy: "acquire() denied again leaves the waiter its place in the line",
    breakIt: (node) => choosing(node, (denials) => [...new Set([...denials].reverse())].at(-1)),
  },
  {
    mistake: "names somebody twice",
    caughtBy: "release() names those who wait in the order of the locks that they came during, each once",
    breakIt: (node) => namingLater(node, (next) => next),
  },
  {
    mistake: "names one who was granted",
    caughtBy: "acquire() that is granted takes the waiter out of the line, and nobody else",
    breakIt: (node) => ({
      async acquire({ waiter, ...request }) {
        const reply = await node.acquire(request);
        return reply.granted || waiter === undefined ? reply : node.acquire({ ...request, waiter });
      },
    }),
  },
  {
    mistake: "puts who releases and goes on waiting before all others",
    caughtBy: "release() with a waiter puts it behind all who wait, and before who comes later",
    breakIt: (node) => {
      const first = new Map<string, string>();
      return {
        async release({ waiter, ...request }) {
          const [resource] = request.resources as [string];
          const next = request.undo ? undefined : first.get(resource);
          // Whom the right node would name keeps the turn.
          const reply = await node.release(next === undefined ? request : { ...request, undo: true });
          if (next !== undefined) first.delete(resource);
          if (waiter !== undefined && reply.next !== undefined) first.set(resource, waiter);
          return next === undefined ? reply : { ...reply, next };
        },
      };
    },
  },
  {
    mistake: "puts who releases and goes on waiting into a line of its own",
    caughtBy: "release() with a waiter puts it into no line where nobody waits",
    breakIt: (node) => namingLater(node, (_, waiter) => waiter),
  },
  {
    mistake: "has one line for all resources",
    caughtBy: "release() names who waits for that resource, and leaves the lines of others",
    breakIt: (node) =>
      choosing(
        node,
        (denials) => denials[0],
        () => "all",
      ),
  },
  {
    mistake: "looks only into the line of the first of several resources",
    caughtBy: "release() of several resources takes the first out of the line of each, and names one of them",
    breakIt: (node) => ({
      async release({ resources, ...request }) {
        const [first, ...others] = resources as [string];
        const reply = await node.release({ ...request, resources: [first] });
        if (others.length === 0) return reply;
        const { released } = await node.release({ ...request, resources: others, undo: true });
        return { ...reply, released: released || reply.released };
      },
    }),
  },
  {
    mistake: "folds the case of waiters",
    caughtBy: "release() names waiters letter for letter",
    breakIt: (node) => ({
      acquire: (request) =>
        node.acquire(request.waiter === undefined ? request : { ...request, waiter: request.waiter.toLowerCase() }),
    }),
  },
  {
    mistake: "never forgets a line",
    caughtBy: "a line is forgotten a minute after somebody has last entered it",
    needs: ["advance"],
    breakIt: (node) => {
      const latest = new Map<string, string>();
      return {
        async acquire(request) {
          const { resources, waiter } = request;
          if (waiter !== undefined) for (const resource of resources) latest.set(resource, waiter);
          return node.acquire(request);
        },
        async release(request) {
          const reply = await node.release(request);
          const next = reply.next ?? latest.get(request.resources[0] as string);
          return request.undo || next === undefined ? reply : { ...reply, next };
        },
      };
    },
  },
];

/** Mistakes about several resources, only some of which are in the way. */
const brokenWhereFree: readonly NodeMistake[] = [
  {
    mistake: "puts who is denied several resources into the lines of those that are free, too",
    caughtBy:
      "acquire() denied on several resources puts the waiter into the line of each that is in the way, and of no other",
    breakIt: (node) =>
      denying(node, async (request, _, free) => {
        const reply = await node.acquire(request);
        await enterOrLeave(node, request, free, true);
        return reply;
      }),
  },
  {
    mistake: "takes the claim of takeover for one that is in the way of several resources",
    caughtBy: "acquire() denied on several resources takes what takeover holds for free",
    breakIt: (node) =>
      denying(node, async (request, held) => {
        const reply = await node.acquire(request);
        if (!reply.granted) await enterOrLeave(node, request, held, true);
        return reply;
      }),
  },
  {
    mistake: "gives who is denied several resources a second place in the line",
    caughtBy: "acquire() denied on several resources leaves the waiter its place where they are in the way",
    breakIt: (node) => ({
      acquire({ waiter, ...request }) {
        if (waiter === undefined) return node.acquire(request);
        return node.acquire({ ...request, waiter: request.resources.length > 1 ? `${waiter} again` : waiter });
      },
      async release(request) {
        const { next, ...reply } = await node.release(request);
        return next === undefined ? reply : { ...reply, next: next.replace(/ again$/, "") };
      },
    }),
  },
  {
    mistake: "keeps who is denied several resources in the lines of those that are free",
    caughtBy:
      "acquire() denied on several resources takes the waiter, and then the next, out of the lines of the others",
    breakIt: (node) => denying(node, (request, held) => node.acquire({ ...request, resources: held })),
  },
  {
    mistake: "passes nobody the turn of who is denied several resources",
    caughtBy:
      "acquire() denied on several resources takes the waiter, and then the next, out of the lines of the others",
    breakIt: (node) =>
      denying(node, async (request, held, free) => {
        await enterOrLeave(node, request, free, false);
        return node.acquire({ ...request, resources: held });
      }),
  },
  {
    mistake: "takes whoever is denied for one who waits",
    caughtBy: "acquire() denied on several resources without a waiter leaves the lines as they are",
    breakIt: (node) => ({ acquire: (request) => node.acquire({ waiter: request.owner, ...request }) }),
  },
  {
    mistake: "tells watchers only of turns that come by a release",
    caughtBy: "watch() names whose turn it is at what is free of several resources that were denied",
    sees: "watch",
    breakIt: (node) => {
      const named = new Set<string>();
      return {
        async release(request) {
          const reply = await node.release(request);
          if (reply.next !== undefined) named.add(reply.next);
          return reply;
        },
        watch: (resources, onReleased) =>
          node.watch(resources, (resource, next) => {
            if (next === undefined || named.has(next)) onReleased(resource, next);
          }),
      };
    },
  },
];

/** Mistakes about what a line decides, and who is told. */
const brokenTurns: readonly NodeMistake[] = [
  {
    mistake: "refuses what is free because somebody else is next in line",
    caughtBy: "acquire() grants what is free to whoever asks, whoever is next in line",
    breakIt: (node) => {
      const turns = new Map<string, string | undefined>();
      return {
        async acquire(request) {
          const turn = turns.get(request.resources[0] as string);
          return turn === undefined || turn === request.waiter ? node.acquire(request) : { granted: false };
        },
        async release(request) {
          const reply = await node.release(request);
          turns.set(request.resources[0] as string, reply.next);
          return reply;
        },
      };
    },
  },
  {
    mistake: "names somebody where an attempt is undone",
    caughtBy: "release() with undo names nobody, and leaves the line as it is",
    breakIt: (node) => ({ release: ({ undo: _, ...request }) => node.release(request) }),
  },
  {
    mistake: "names somebody in the reply, and nobody to watchers",
    caughtBy: "watch() names whom the reply of release() names, for each resource, and nobody else",
    sees: "watch",
    breakIt: (node) => ({
      watch: (resources, onReleased) => node.watch(resources, (resource) => onReleased(resource)),
    }),
  },
  {
    mistake: "names somebody else to watchers than in the reply",
    caughtBy: "watch() names whom the reply of release() names, for each resource, and nobody else",
    sees: "watch",
    breakIt: (node) => {
      let before: string | undefined;
      return {
        watch: (resources, onReleased) =>
          node.watch(resources, (resource, next) => {
            onReleased(resource, before);
            before = next;
          }),
      };
    },
  },
];

/** Mistakes about the lines of those who wait. */
export const brokenLines: readonly NodeMistake[] = [...brokenPlaces, ...brokenWhereFree, ...brokenTurns].map(
  (mistake) => ({
    ...mistake,
    needs: ["line", ...(mistake.needs ?? [])],
  }),
);
