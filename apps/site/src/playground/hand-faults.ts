/** What a reader may do to the nodes and clients at a moment of a run. */
import type { Trace } from "@holdfast/simulation";
import {
  crashClient,
  crashNode,
  cutLink,
  lateWrite,
  mendLink,
  type PlayFault,
  pauseClient,
  restartNode,
  setClock,
  stallClient,
} from "./free-play.ts";
import { isDuring } from "./truth.ts";

/** Something that the reader may do to a node or a client. */
export interface HandAction {
  /** A short name, unique among the actions of its target. */
  readonly id: string;
  /** The text of its button. */
  readonly label: string;
  /** The reader's faults afterwards. Undefined if it is impossible at this moment. */
  readonly faults: readonly PlayFault[] | undefined;
}

/** What the actions depend on. */
export interface HandContext {
  /** The run so far. */
  readonly trace: Trace;
  /** The reader's faults so far. */
  readonly faults: readonly PlayFault[];
  /** The moment of the action, in milliseconds. */
  readonly atMs: number;
  /** The ttl of the scenario's locks, in milliseconds: faults last for a multiple of it. */
  readonly ttlMs: number;
}

/** Returns what the reader may do to a node. */
export function nodeActions(node: string, context: HandContext): readonly HandAction[] {
  const links = context.trace.clients.flatMap((client) => linkActions(node, client, context));
  return [...crashActions(node, context), ...clockActions(node, context), ...links];
}

/** Returns what the reader may do to a client. */
export function clientActions(client: string, context: HandContext): readonly HandAction[] {
  const { trace, faults, atMs, ttlMs } = context;
  const [pauseMs, longMs] = [1.5 * ttlMs, 2 * ttlMs];
  const late = lateWrite(trace, client, atMs, longMs);
  const lateLabel = late ? `Delay its next write by ${longMs} ms` : "Delay its next write (there is none)";
  return [
    { id: "pause", label: `Pause for ${pauseMs} ms`, faults: [...faults, pauseClient(client, atMs, pauseMs)] },
    {
      id: "pause-before-acting",
      label: `Pause for ${longMs} ms before its next access`,
      faults: [...faults, stallClient(client, atMs, longMs)],
    },
    { id: "late-write", label: lateLabel, faults: late && [...faults, late] },
    { id: "crash", label: "Crash", faults: [...faults, crashClient(client, atMs)] },
    ...clockActions(client, context),
  ];
}

function crashActions(node: string, { trace, faults, atMs, ttlMs }: HandContext): HandAction[] {
  const isDown = trace.outages.some((outage) => outage.node === node && isDuring(outage, atMs));
  if (!isDown) {
    return [
      { id: "crash", label: "Crash", faults: [...faults, crashNode(node, atMs)] },
      {
        id: "crash-without-memory",
        label: "Crash and lose its memory",
        faults: [...faults, crashNode(node, atMs, { memory: "lost" })],
      },
    ];
  }
  const restarted = restartNode(faults, node, atMs);
  const changed = restarted.find((fault, index) => fault !== faults[index]);
  if (changed?.kind !== "node crash") return [{ id: "restart", label: "It is down", faults: undefined }];
  const guarded = restarted.map((fault) => (fault === changed ? { ...changed, guardMs: ttlMs } : fault));
  const guard = { id: "restart-guarded", label: `Restart, without a vote for ${ttlMs} ms`, faults: guarded };
  return [{ id: "restart", label: "Restart", faults: restarted }, ...(changed.memory === "lost" ? [guard] : [])];
}

function clockActions(of: string, { faults, atMs, ttlMs }: HandContext): HandAction[] {
  return [
    { id: "clock-forward", label: `Set its clock ${ttlMs} ms forward`, faults: [...faults, setClock(of, atMs, ttlMs)] },
    { id: "clock-back", label: `Set its clock ${ttlMs} ms back`, faults: [...faults, setClock(of, atMs, -ttlMs)] },
  ];
}

function linkActions(node: string, client: string, { trace, faults, atMs }: HandContext): HandAction[] {
  const slug = client.replaceAll(" ", "-");
  const isCut = trace.partitions.some(
    (cut) => cut.clients.includes(client) && cut.nodes.includes(node) && isDuring(cut, atMs),
  );
  if (isCut) {
    const mended = mendLink(faults, client, node, atMs);
    const isChanged = mended.some((fault, index) => fault !== faults[index]);
    const label = isChanged ? `Restore the link to ${client}` : `The link to ${client} is cut`;
    return [{ id: `mend-${slug}`, label, faults: isChanged ? mended : undefined }];
  }
  return [
    { id: `cut-${slug}`, label: `Cut the link to ${client}`, faults: [...faults, cutLink(client, node, atMs)] },
    {
      id: `cut-replies-${slug}`,
      label: `Lose replies to ${client}`,
      faults: [...faults, cutLink(client, node, atMs, { part: "replies" })],
    },
  ];
}
