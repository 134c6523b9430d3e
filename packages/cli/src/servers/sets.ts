/** The sets of servers: one, or the old and the new one while servers change. A lock needs a majority of each. */
import type { JointSet, LockNode } from "@holdfast/core";

/** Which of the servers are in the old and in the new set, by their positions. A server may be in both. */
export interface JointPositions {
  readonly old: readonly number[];
  readonly new: readonly number[];
}

/** A set of servers, or of what there is of each server. */
export interface ServerSet<Member> {
  /** Distinguishes the two sets of a change; null if there is one set. */
  readonly name: "old" | "new" | null;
  readonly members: readonly Member[];
}

/** Returns the sets, given all servers in the order of the options. */
export function setsOf<Member>(
  all: readonly Member[],
  joint: JointPositions | undefined,
): readonly ServerSet<Member>[] {
  if (joint === undefined) return [{ name: null, members: all }];
  const membersAt = (positions: readonly number[]): Member[] => positions.map((position) => all[position] as Member);
  return [
    { name: "old", members: membersAt(joint.old) },
    { name: "new", members: membersAt(joint.new) },
  ];
}

/** Returns the nodes as core takes them. */
export function arranged(
  nodes: readonly LockNode[],
  joint: JointPositions | undefined,
): readonly LockNode[] | JointSet {
  const [first, second] = setsOf(nodes, joint);
  return second === undefined ? nodes : { old: first?.members ?? [], new: second.members };
}

/** Returns the majority of a number of servers. */
export function quorumOf(count: number): number {
  return Math.floor(count / 2) + 1;
}

/** Returns whether a majority of each set counts. */
export function haveQuorum<Member>(sets: readonly ServerSet<Member>[], counts: (member: Member) => boolean): boolean {
  return sets.every(({ members }) => members.filter(counts).length >= quorumOf(members.length));
}

/** Returns how many servers may fail, whichever they are, while a majority of each set is left. */
export function spareOf(sets: readonly ServerSet<unknown>[]): number {
  return Math.min(...sets.map(({ members }) => members.length - quorumOf(members.length)));
}
