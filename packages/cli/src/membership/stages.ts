/** The report of `migrate`, as text and as JSON. */
import type { MigrationStatus } from "@holdfast/core/membership";
import { reasonOf } from "../failures.ts";
import { listed } from "../output/format.ts";
import { colors } from "../output/print.ts";
import { table } from "../output/table.ts";
import type { ServerSet } from "../servers/sets.ts";

/** A change of servers, for reports. */
export interface Change {
  /** The epoch of the clients before the change. */
  readonly epoch: number;
  /** The names of the servers of both sets. */
  readonly sets: readonly ServerSet<string>[];
}

type Stage = MigrationStatus["stage"];

const verdicts: Readonly<Record<Stage, string>> = {
  none: "not begun: the servers do not know of the change",
  begun: "begun: clients may use both sets",
  joined: "joined: locks need both sets, and clients may leave the old one",
  ended: "ended: locks need the new set alone",
};

/** Returns the report for people: the stage, what to do next, and a line for each server. */
export function statusText(status: MigrationStatus, change: Change): string {
  const rows = status.nodes.map(({ node, floor, error }) => [
    node,
    setsWith(node, change).join(", "),
    floor === null ? "" : String(floor.epoch),
    floor === null ? "" : String(floor.floor),
    error === null ? "" : colors.red(reasonOf(error)),
  ]);
  return [
    `the change is ${colors.bold(verdicts[status.stage])}`,
    `  clients may have the epochs ${status.epochs.join(" and ")}`,
    ...nextSteps(status.stage, change).map((step, index) => `  ${index === 0 ? "next: " : "      "}${step}`),
    "",
    table(["server", "set", "epoch", "floor", ""], rows),
  ].join("\n");
}

/**
 * Returns the report for programs. Keys may be added, but existing ones do not change.
 *
 * @returns one line of JSON
 */
export function statusJson({ stage, epochs, nodes }: MigrationStatus, change: Change): string {
  return JSON.stringify({
    stage,
    epoch: change.epoch,
    epochs,
    nodes: nodes.map(({ node, floor, error }) => ({
      node,
      sets: setsWith(node, change),
      epoch: floor?.epoch ?? null,
      floor: floor?.floor ?? null,
      error: error === null ? null : reasonOf(error),
    })),
  });
}

/** Says how far the change is after a step has failed. What the step has written stays, and is safe. */
export function remainderText({ stage, nodes }: MigrationStatus, { epoch }: Change, step: string): string {
  const raised = nodes.filter(({ floor }) => (floor?.epoch ?? 0) > epoch + 1).map(({ node }) => node);
  const isHalfDone = stage === "begun" && raised.length > 0;
  const already = isHalfDone
    ? `; ${listed(raised)} already refuse clients of epoch ${epoch}, and joint ones go on`
    : "";
  return `the change is ${verdicts[stage]}${already}. Nothing has to be undone: repeat holdfast migrate ${step}`;
}

/** Names the clients that a server at this epoch serves. The epochs of clients are odd. */
export function servedText(epoch: number): string {
  return epoch % 2 === 1 ? `clients of epoch ${epoch}` : `clients of the epochs ${epoch - 1} and ${epoch + 1}`;
}

/** Says what to do next, in one line. */
export function nextText({ stage }: MigrationStatus, change: Change): string {
  return `next: ${nextSteps(stage, change).join(" ")}`;
}

function nextSteps(stage: Stage, { epoch, sets }: Change): readonly string[] {
  if (stage === "none") return [`holdfast migrate begin, while all clients use the old set with epoch ${epoch}`];
  if (stage === "begun") {
    return [
      `give all clients both sets: new Redlock({ old, new }, { epoch: ${epoch + 2} }), or --old and --new`,
      `with --epoch ${epoch + 2}. When all of them have both: holdfast migrate join`,
    ];
  }
  if (stage === "joined") {
    return [
      `give all clients the new set alone: new Redlock(nodes, { epoch: ${epoch + 4} }), or --node`,
      `with --epoch ${epoch + 4}. When all of them have it: holdfast migrate end`,
    ];
  }
  const [before = [], after = []] = sets.map(({ members }) => members);
  const unused = before.filter((name) => !after.includes(name));
  return [unused.length > 0 ? `stop ${listed(unused)}: no client needs them` : "nothing: all servers stay in use"];
}

function setsWith(node: string, { sets }: Change): readonly string[] {
  return sets.filter(({ members }) => members.includes(node)).map(({ name }) => name ?? "");
}
