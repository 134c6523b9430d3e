/** What a reader may do to the nodes and clients at a moment of a run. */
import type { NodeCrash, Partition, Trace } from "@holdfast/simulation";
import { wholeMicroseconds } from "./address.ts";
import type { PlayFault } from "./free-play.ts";
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

/** How long a link stays cut that nobody restores, in milliseconds. */
const cutMs = 60_000;

/** Returns what the reader may do to a node. */
export function nodeActions(node: string, context: HandContext): readonly HandAction[] {
  const links = context.trace.clients.flatMap((client) => linkActions(node, client, context));
  return [...crashActions(node, context), ...clockActions(node, context), ...links];
}

/** Returns what the reader may do to a client. */
export function clientActions(client: string, context: HandContext): readonly HandAction[] {
  const { trace, atMs, ttlMs } = context;
  const [pauseMs, longMs] = [1.5 * ttlMs, 2 * ttlMs];
  const accesses = trace.accesses.filter((access) => access.client === client);
  const next = accesses.findIndex(({ kind, sentAtMs }) => kind === "write" && sentAtMs >= atMs);
  const late: PlayFault = { kind: "late access", client, access: next + 1, byMs: longMs };
  const add = adding(context);
  return [
    add("pause", `Pause for ${pauseMs} ms`, { kind: "pause", client, atMs, forMs: pauseMs, step: 0 }),
    add("pause-before-acting", `Pause for ${longMs} ms before its next access`, {
      kind: "pause before acting",
      client,
      atMs,
      forMs: longMs,
    }),
    next < 0
      ? { id: "late-write", label: "Delay its next write (there is none)", faults: undefined }
      : add("late-write", `Delay its next write by ${longMs} ms`, late),
    add("crash", "Crash", { kind: "client crash", client, atMs }),
    ...clockActions(client, context),
  ];
}

/** Returns a function that makes an action of a fault that is added to the others. */
function adding({ faults }: HandContext) {
  return (id: string, label: string, fault: PlayFault): HandAction => ({ id, label, faults: [...faults, fault] });
}

function crashActions(node: string, context: HandContext): HandAction[] {
  const { trace, faults, atMs, ttlMs } = context;
  if (!trace.outages.some((outage) => outage.node === node && isDuring(outage, atMs))) {
    const crash: NodeCrash = { kind: "node crash", node, atMs, forMs: Infinity, memory: "kept", isSilent: false };
    const add = adding(context);
    return [
      add("crash", "Crash", crash),
      add("crash-without-memory", "Crash and lose its memory", { ...crash, memory: "lost" }),
    ];
  }
  const restarted = ended(faults, atMs, (fault) => fault.kind === "node crash" && fault.node === node);
  const changed = restarted.find((fault, index) => fault !== faults[index]);
  if (changed?.kind !== "node crash") return [{ id: "restart", label: "It is down", faults: undefined }];
  const guarded = restarted.map((fault) => (fault === changed ? { ...changed, guardMs: ttlMs } : fault));
  const guard = { id: "restart-guarded", label: `Restart, without a vote for ${ttlMs} ms`, faults: guarded };
  return [{ id: "restart", label: "Restart", faults: restarted }, ...(changed.memory === "lost" ? [guard] : [])];
}

function clockActions(of: string, context: HandContext): HandAction[] {
  const { atMs, ttlMs } = context;
  const add = adding(context);
  return [
    add("clock-forward", `Set its clock ${ttlMs} ms forward`, { kind: "clock jump", of, atMs, byMs: ttlMs }),
    add("clock-back", `Set its clock ${ttlMs} ms back`, { kind: "clock jump", of, atMs, byMs: -ttlMs }),
  ];
}

function linkActions(node: string, client: string, context: HandContext): HandAction[] {
  const { trace, faults, atMs } = context;
  const slug = client.replaceAll(" ", "-");
  const isLink = (cut: Pick<Partition, "clients" | "nodes">) =>
    cut.clients.includes(client) && cut.nodes.includes(node);
  if (trace.partitions.some((cut) => isLink(cut) && isDuring(cut, atMs))) {
    const mended = ended(faults, atMs, (fault) => fault.kind === "partition" && isLink(fault));
    const isChanged = mended.some((fault, index) => fault !== faults[index]);
    const label = isChanged ? `Restore the link to ${client}` : `The link to ${client} is cut`;
    return [{ id: `mend-${slug}`, label, faults: isChanged ? mended : undefined }];
  }
  const cut: Partition = { kind: "partition", clients: [client], nodes: [node], part: "both", atMs, forMs: cutMs };
  const add = adding(context);
  return [
    add(`cut-${slug}`, `Cut the link to ${client}`, cut),
    add(`cut-replies-${slug}`, `Lose replies to ${client}`, { ...cut, part: "replies" }),
  ];
}

/** Shortens the faults that last at a moment, so that they end then. */
function ended(faults: readonly PlayFault[], atMs: number, isOne: (fault: PlayFault) => boolean): PlayFault[] {
  return faults.map((fault) => {
    const lasts = "forMs" in fault && isOne(fault) && fault.atMs <= atMs && atMs < fault.atMs + fault.forMs;
    return lasts ? { ...fault, forMs: wholeMicroseconds(atMs - fault.atMs) } : fault;
  });
}
