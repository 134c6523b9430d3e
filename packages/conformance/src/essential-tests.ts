/**
 * The statements of the tests that catch the most broken nodes: for one more client or version of a node that passes the
 * whole suite with another one. They are no verdict on a node by themselves.
 *
 * @example
 * ```ts
 * import { describeLockNode, essentialTests } from "@holdfast/conformance";
 * import { memoryNode } from "@holdfast/memory";
 *
 * describeLockNode("the same node with another client", {
 *   create: async () => {
 *     const node = memoryNode();
 *     return { node, rival: node, close: async () => {} };
 *   },
 *   only: essentialTests,
 *   noServer: "it keeps its claims in this process",
 *   noOtherProcess: "it keeps its claims in this process",
 * });
 * ```
 */
export const essentialTests: readonly string[] = [
  "acquire() grants a resource that was never claimed",
  "acquire() denies a resource that another owner holds, through either client",
  "acquire() rejects a malformed request, and changes nothing",
  "extend() rejects a malformed request, and changes nothing",
  "release() rejects a malformed request, and changes nothing",
  "acquire() resent by the holder grants again with the same fence, whatever its hint",
  "extend() of another owner's claim returns not held, and changes neither claim nor counter",
  "a hint is limited to a day ahead of the store's clock, or of the adapter's",
  "the counter of a resource advances with each of its grants, whatever other resources do",
  "a claim lasts for at least its ttl, and then the resource is free",
  "a claim lasts for the whole of a ttl of seconds, however it was made",
  "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing",
  "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence",
  "acquire() with takeover passes one of several shared claims on, and leaves the counter and the others alone",
  "acquire() denied by sharers gives the wait for the one that lasts longest and its owner, if it gives any",
  "acquire() grants one more than the floor if the counter is lower, through either client",
  "acquire() grants the largest safe integer, and then rejects and claims nothing",
  "acquire() of a shared claim grants one more than the floor, or the floor itself if it joins lower counters",
  "inspect() returns the floor beside the counter, or the counter that it has raised",
  "raiseFloor() raises the floor and the epoch each only if it is lower, for both clients",
  "raiseFloor() and scan() reject in time while the server is unreachable",
  "acquire() is served if its epoch differs from that of the node by 1 at most, and no other",
  "acquire() that is refused for its epoch claims nothing, and changes no counter",
  "acquire() is refused for its epoch while another owner holds the resource, and changes nothing",
  "extend() and release() serve holders of all epochs",
  "scan() reads each counter, whether its claim is in force, released or expired",
  "scan() reads each claim in force with its owner and its remaining time",
  "scan() reads the claim of every sharer with its own remaining time, and no ended one",
  "scan() reads names and owners exactly as they were given",
  "scan() reads thousands of counters and claims, in portions of bounded size",
  "each of many unusual names is a separate resource",
  "names of 5000 characters that differ only in the last are two resources",
  "watch() notifies of a release by the rival client",
  "unwatch() ends the watch, and only that one",
  "release() names waiters in the order of the fence counters at which they joined, each once",
  "acquire() denied on several resources removes its waiter, and then the next, from the lists of the others",
  "watch() names the same waiters as the replies of release(), for each resource, and no others",
  "close() changes neither claims nor fence counters, and is safe to repeat",
  "acquire() rejects in time while the server is unreachable, and neither grants nor denies",
  "release() does not resolve while the server is unreachable, and settles in time after the outage",
  "a claim excludes another process from the reply of acquire() until the reply of release()",
  "acquire(), extend() and release() of 300 resources reach each of them",
  "thousands of claims are held at once, and thousands of counters are kept",
];
