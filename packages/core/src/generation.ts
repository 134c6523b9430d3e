import { checkType, wrong } from "./arguments.ts";

/*
 * Users count changes of the servers in generations; requests and nodes count stages in epochs, as `FenceFloor` says.
 * Clients of generation g have the epoch 4g + 1, and 4g + 3 while they know both sets of the change that follows.
 */

/** The epochs of generations below this are safe integers. */
const generationsMax = 2 ** 50;

/**
 * Returns the epoch of the requests of clients.
 *
 * @param generation how many times their set of servers has changed
 * @param isJoint whether they know both sets of the change that is under way
 * @throws {TypeError | RangeError} for a bad generation
 *
 * @example
 * ```ts
 * import { epochOf } from "@holdfast/core/node";
 *
 * console.log(epochOf(0, false), epochOf(0, true), epochOf(1, false)); // 1 3 5
 * ```
 */
export function epochOf(generation: number, isJoint: boolean): number {
  checkType("generation", "number", generation);
  const isGeneration = Number.isSafeInteger(generation) && generation >= 0 && generation < generationsMax;
  if (!isGeneration) throw wrong("generation", "a non-negative integer below 2^50", generation);
  return 4 * generation + (isJoint ? 3 : 1);
}

/**
 * Names clients by the epoch of their requests, in a text for people: "generation 0" or "generation 0 with both sets".
 *
 * @param epoch the epoch of the clients
 *
 * @example
 * ```ts
 * import { clientsOf } from "@holdfast/core/node";
 *
 * console.log(`clients of ${clientsOf(3)}`); // clients of generation 0 with both sets
 * ```
 */
export function clientsOf(epoch: number): string {
  const generation = Math.floor(epoch / 4);
  if (epoch % 4 === 1) return `generation ${generation}`;
  return epoch % 4 === 3 ? `generation ${generation} with both sets` : `epoch ${epoch}`;
}

/**
 * Names the clients that a node serves, in a text for people.
 *
 * @param epoch the epoch of the node
 *
 * @example
 * ```ts
 * import { servedBy } from "@holdfast/core/node";
 *
 * console.log(servedBy(4)); // clients of generation 0 with both sets and of generation 1
 * ```
 */
export function servedBy(epoch: number): string {
  return epoch === 0 ? "all clients" : `clients of ${generationsServed(epoch)}`;
}

/** Completes the text "serves clients of" for a node at an epoch above 0. */
export function generationsServed(epoch: number): string {
  const served = epoch % 2 === 0 ? [epoch - 1, epoch + 1] : [epoch];
  return served.map(clientsOf).join(" and of ");
}
