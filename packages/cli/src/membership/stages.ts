/** The report of `migrate`, as text. */
import { epochOf, servedBy } from "@holdfast/core/node";
import type { MigrationStatus } from "@holdfast/membership";
import { reasonOf } from "../failures.ts";
import { listed } from "../output/format.ts";
import { colors } from "../output/print.ts";
import { table } from "../output/table.ts";
import { haveQuorum, type ServerSet } from "../servers/sets.ts";

/** A change of servers, for reports. */
export interface Change {
  /** The generation of the clients before the change. */
  readonly generation: number;
  /** The names of the servers of both sets. */
  readonly sets: readonly ServerSet<string>[];
}

type Stage = MigrationStatus["stage"];

const verdicts: Readonly<Record<Stage, string>> = {
  none: "not begun: the servers do not know of the change",
  begun: "begun: clients may use both sets",
  joined: "joined: locks need both sets, and clients may leave the old one",
  ended: "ended: locks need the new set alone",
  forgotten: "unknown: most of the new servers do not know about it, though others refuse the clients before it",
};

/** Returns the report for people: the stage, what to do next, and a line for each server. */
export function statusText(status: MigrationStatus, change: Change): string {
  const rows = status.nodes.map(({ node, floor, error }) => [
    node,
    setsWith(node, change).join(", "),
    floor === null ? "" : servedBy(floor.epoch),
    floor === null ? "" : String(floor.floor),
    error === null ? "" : colors.red(reasonOf(error)),
  ]);
  const lines = table(["server", "set", "serves", "floor", ""], rows);
  if (!isKnown(status, change)) {
    const isForgotten = status.stage === "forgotten";
    const why = isForgotten ? verdicts.forgotten : "unknown: too few of the new servers replied";
    const next = isForgotten ? [`  ${nextText(status, change)}`] : [];
    return [`the stage of the change is ${why}`, ...next, "", lines].join("\n");
  }
  return [
    `the change is ${colors.bold(verdicts[status.stage])}${halfDoneText(status, change)}`,
    ...nextSteps(status, change).map((step, index) => `  ${index === 0 ? "next: " : "      "}${step}`),
    "",
    lines,
  ].join("\n");
}

/** Says how far the change is after a step has failed. What the step has written stays, and is safe. */
export function remainderText(status: MigrationStatus, change: Change, step: string): string {
  const repeat = `Nothing has to be undone: repeat holdfast migrate ${step}`;
  // A beginning that has reached only one of the sets has no stage of its own.
  if (step === "begin" || !isKnown(status, change)) return repeat;
  return `the change is ${verdicts[status.stage]}${halfDoneText(status, change)}. ${repeat}`;
}

/** Returns whether enough servers of the new set have replied to tell the stage, and remember it. */
export function isKnown({ nodes, stage }: MigrationStatus, { sets }: Change): boolean {
  if (stage === "forgotten") return false;
  const replied = nodes.filter(({ error }) => error === null).map(({ node }) => node);
  const after = sets.filter(({ name }) => name === "new");
  return haveQuorum(after, (name) => replied.includes(name));
}

/** Returns the servers that refuse clients of the old set, although the change has not joined: `join` was interrupted. */
function refusing({ stage, nodes }: MigrationStatus, { generation }: Change): readonly string[] {
  if (stage !== "begun") return [];
  return nodes.flatMap(({ node, floor }) => ((floor?.epoch ?? 0) >= epochOf(generation, true) ? node : []));
}

function halfDoneText(status: MigrationStatus, change: Change): string {
  const servers = refusing(status, change);
  if (servers.length === 0) return "";
  return `; clients without both sets are already refused by ${listed(servers)}, and those with both go on`;
}

/** Says what to do next, in one line. */
export function nextText(status: MigrationStatus, change: Change): string {
  return `next: ${nextSteps(status, change).join(" ")}`;
}

function nextSteps(status: MigrationStatus, change: Change): readonly string[] {
  const { stage } = status;
  const { generation, sets } = change;
  if (stage === "forgotten") {
    const empty = status.nodes.filter(
      ({ node, floor }) => floor?.epoch === 0 && setsWith(node, change).includes("new"),
    );
    const servers = empty.map(({ node }) => node);
    return [`start ${listed(servers)} with their data again, or heal them if enough others are left`];
  }
  if (refusing(status, change).length > 0) return ["holdfast migrate join again: it was interrupted"];
  if (stage === "none")
    return [`holdfast migrate begin, while all clients use the old set with generation ${generation}`];
  if (stage === "begun") {
    return [
      `give all clients both sets: new Redlock({ old, new }, { generation: ${generation} }), or --old and --new`,
      `with --generation ${generation}. When all of them have both: holdfast migrate join`,
    ];
  }
  if (stage === "joined") {
    return [
      `give all clients the new set alone: new Redlock(nodes, { generation: ${generation + 1} }), or --node`,
      `with --generation ${generation + 1}. When all of them have it: holdfast migrate end`,
    ];
  }
  const [before = [], after = []] = sets.map(({ members }) => members);
  const unused = before.filter((name) => !after.includes(name));
  return [
    unused.length > 0
      ? `stop ${listed(unused)}: no client needs ${unused.length === 1 ? "it" : "them"}`
      : "nothing: all servers stay in use",
    `unless this is a later change, of clients whose generation is ${generation + 1} or more: pass it with --generation`,
  ];
}

function setsWith(node: string, { sets }: Change): readonly string[] {
  return sets.filter(({ members }) => members.includes(node)).map(({ name }) => name ?? "");
}
