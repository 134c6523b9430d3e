/** A fault that is edited into a statement. */
export interface Mutant {
  /** The fault, completing "a node that …". */
  readonly fault: string;
  /** The statement of the conformance test that catches it. */
  readonly caughtBy: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/** The faults that the conformance suite must catch. The rules themselves are no statements, and have their own tests. */
export const mutants: readonly Mutant[] = [
  {
    fault: "looks who holds the resource, and claims it without looking again",
    caughtBy: "acquire() grants exactly one of 100 claims sent at once, in every round",
    from: /AND held\.version = seen_version[\s\S]*AND held\.sharers <=> seen_sharers/g,
    to: "",
  },
  {
    fault: "claims those of several resources that are still as it has seen them",
    caughtBy: "acquire() grants exactly one of many overlapping claims sent at once, as a whole",
    from: /WHERE found = \d+/g,
    to: "WHERE found > 0",
  },
  {
    fault: "releases claims of any owner",
    caughtBy: "release() leaves another owner's claim and counter alone",
    from: /(SET owner = NULL[\s\S]*AND )owner = X'[\da-f]+'/g,
    to: "$1owner IS NOT NULL",
  },
  {
    fault: "ends the claims of all sharers with the first release",
    caughtBy: "release() of one shared claim leaves the others, and keeps the counter",
    from: /(SET owner = NULL[\s\S]*)AND owner = [\s\S]*/g,
    to: "$1",
  },
  {
    fault: "deletes the counter with a release",
    caughtBy: "release() frees the owner's claim for the next owner, and keeps the counter",
    from: "SET owner = NULL,",
    to: "SET fence = 0, owner = NULL,",
  },
  {
    fault: "extends claims of any owner",
    caughtBy: "extend() of another owner's claim returns not held, and changes neither claim nor counter",
    from: /(LAST_INSERT_ID[\s\S]*AND )owner = X'[\da-f]+'([\s\S]*)AND fence >= \d+/g,
    to: "$1owner IS NOT NULL$2",
  },
  {
    fault: "confirms a claim that has expired",
    caughtBy: "extend() without rejoin of a resource that is free changes nothing",
    from: /(LAST_INSERT_ID[\s\S]*AND )until > [\s\S]*/g,
    to: "$1 TRUE",
  },
  {
    fault: "shortens a claim",
    caughtBy: "extend() of a held claim with less than its remaining ttl does not shorten it",
    from: "GREATEST(until, ",
    to: "GREATEST(0, ",
  },
  {
    fault: "extends without raising the counter",
    caughtBy: "extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone",
    from: /AND fence >= \d+/g,
    to: "",
  },
  {
    fault: "lowers the floor",
    caughtBy: "raiseFloor() raises the floor and the epoch each only if it is lower, for both clients",
    from: /UPDATE fence = GREATEST\(fence, (\d+)\)/g,
    to: "UPDATE fence = $1",
  },
  {
    fault: "reads one row only",
    caughtBy: "scan() reads each counter, whether its claim is in force, released or expired",
    from: "ORDER BY name LIMIT 1001",
    to: "ORDER BY name LIMIT 1",
  },
];
