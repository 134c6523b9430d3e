/** A fault that is edited into a statement. */
export interface Mutant {
  /** The fault, completing "a node that …". */
  readonly fault: string;
  /** The statement of the conformance test that catches it. */
  readonly caughtBy: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/** The faults that the conformance suite must catch. */
export const mutants: readonly Mutant[] = [
  {
    fault: "releases claims of any owner",
    caughtBy: "release() leaves another owner's claim and counter alone",
    from: /(\bowner|locked\.owner) = \$2::text (OR|THEN)/g,
    to: "$1 IS NOT NULL $2",
  },
  {
    fault: "confirms a claim that has expired",
    caughtBy: "extend() without rejoin of a resource that is free changes nothing",
    from: "END > now) = cardinality",
    to: "END IS NOT NULL) = cardinality",
  },
  {
    fault: "shortens a claim",
    caughtBy: "extend() of a held claim with less than its remaining ttl does not shorten it",
    from: "greatest(row.until, excluded.until)",
    to: "excluded.until",
  },
  {
    fault: "lowers the counter",
    caughtBy: "extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone",
    from: "fence = greatest(row.fence, excluded.fence)",
    to: "fence = excluded.fence",
  },
  {
    fault: "does not advance the counter of a free resource",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    from: "fence = greatest(row.fence + 1,",
    to: "fence = greatest(row.fence,",
  },
  {
    fault: "advances each of several counters by itself",
    caughtBy: "the fence of several resources is one more than their highest counter, for each of them",
    from: "fence = excluded.fence,\n",
    to: "fence = row.fence + 1,\n",
  },
  {
    fault: "rejoins without advancing the counter",
    caughtBy: "extend() with rejoin advances the counter, as a grant does",
    from: "greatest(highest + 1,",
    to: "greatest(highest,",
  },
  {
    fault: "accepts any hint for a resource with a row",
    caughtBy: "a hint beyond this limit, however often it is sent, advances the counter no faster than the clock",
    from: "fence = greatest(row.fence + 1, least($4::bigint",
    to: "fence = greatest(row.fence + 1, greatest($4::bigint",
  },
  {
    fault: "deletes the counter with a release",
    caughtBy: "release() frees the owner's claim for the next owner, and keeps the counter",
    from: "SET sharers = excluded.sharers,",
    to: "SET fence = 0, sharers = excluded.sharers,",
  },
  {
    fault: "looks who holds the resource, and claims it without looking again",
    caughtBy: "acquire() grants exactly one of 100 claims sent at once, in every round",
    from: /WHERE NOT \(row\.owner[\s\S]*?(?=\s+RETURNING fence)/g,
    to: "",
  },
  {
    fault: "looks who holds the resources, and claims them without looking again",
    caughtBy: "acquire() grants exactly one of many overlapping claims sent at once, as a whole",
    from: "verdict.claims = 0 AND",
    to: "",
  },
  {
    fault: "claims those of several resources that have a row",
    caughtBy: "acquire() grants several resources at once and holds each of them",
    from: "WHEN verdict.found < cardinality($1::text::text[]) THEN 'missing'",
    to: "",
  },
  {
    fault: "names the last waiter",
    caughtBy: "release() names waiters in the order of the fence counters at which they joined, each once",
    from: "min(entry)",
    to: "max(entry)",
  },
  {
    fault: "keeps a waiter in the list that has the lock",
    caughtBy: "acquire() that is granted removes its waiter from the waiting list, and no other",
    from: "CASE WHEN row.waiters IS NOT NULL THEN",
    to: "CASE WHEN row.waiters IS NOT NULL THEN row.waiters WHEN false THEN",
  },
  {
    fault: "lets sharers join an exclusive claim",
    caughtBy: "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing",
    from: "CASE WHEN row.sharers IS NULL THEN (row.owner",
    to: "CASE WHEN row.sharers IS NULL THEN (false AND row.owner",
  },
  {
    fault: "looks whether a resource is shared, and joins without looking again",
    caughtBy: "acquire() grants one exclusive claim or only shared ones of many sent at once",
    from: /\(CASE WHEN locked\.sharers IS NULL[\s\S]*?END\) AS claimed/g,
    to: "false AS claimed",
  },
  {
    fault: "takes over an exclusive claim from one of several sharers",
    caughtBy: "acquire() with takeover of an exclusive claim is denied and changes nothing while another owner shares",
    from: "OR row.sharers IS NOT NULL AND jsonb_path_exists",
    to: "OR false AND jsonb_path_exists",
  },
  {
    fault: "advances the counter for sharers that join",
    caughtBy: "acquire() of a shared claim that joins leaves the counter alone, whatever its hint",
    from: "(SELECT bool_and(joins) FROM states)",
    to: "false",
  },
  {
    fault: "joins without advancing where only some resources are shared",
    caughtBy: "acquire() that joins sharers on only some of several resources advances the counter of each",
    from: "(SELECT bool_and(joins) FROM states)",
    to: "(SELECT bool_or(joins) FROM states)",
  },
  {
    fault: "joins sharers that have ended",
    caughtBy: "acquire() of a shared claim advances the counter if all earlier sharers have expired",
    from: "? (@ > $now)",
    to: "? (@ > 0)",
  },
  {
    fault: "rejoins sharers without raising the counter to the fence",
    caughtBy:
      "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence",
    from: "greatest(highest, CASE WHEN $8::boolean THEN floor ELSE $4::bigint END)",
    to: "highest",
  },
  {
    fault: "ends the claims of all sharers with the first release",
    caughtBy: "release() of one shared claim leaves the others, and keeps the counter",
    from: "THEN sharers - $2::text END AS left_over",
    to: "THEN NULL::jsonb END AS left_over",
  },
  {
    fault: "keeps the end of the longest sharer that was released",
    caughtBy: "a resource is free when its last shared claim ends, although a longer one was released",
    from: /CASE WHEN left_over IS NOT NULL THEN [^;]*? ELSE until END, fence/g,
    to: "CASE WHEN left_over IS NOT NULL THEN (SELECT max(key) FROM jsonb_each(left_over)) END, until, fence",
  },
  {
    fault: "shortens a shared claim",
    caughtBy: "extend() of a shared claim with less than its remaining ttl does not shorten it",
    from: "to_jsonb(greatest(((row.sharers -> $2::text) ->> 0)::bigint,",
    to: "to_jsonb(greatest(0,",
  },
  {
    fault: "extends all sharers with the resource",
    caughtBy: "extend() of a shared claim prolongs that claim and no other",
    from: /sharers = jsonb_set\(row\.sharers, ARRAY\[\$2::text, '0'\],\s+to_jsonb\([\s\S]*?::bigint\)\)\)/g,
    to: "sharers = (SELECT jsonb_object_agg(key, jsonb_set(value, '{0}', '9e15')) FROM jsonb_each(row.sharers))",
  },
  {
    fault: "forgets that an exclusive waiter was denied",
    caughtBy: "acquire() of a shared claim does not join once an exclusive request with a waiter was denied",
    from: "left($3::text, 1) = 'x'",
    to: "false",
  },
  {
    fault: "keeps sharers out after the exclusive waiter got the lock",
    caughtBy: "acquire() of shared claims is granted again once an exclusive request was",
    from: "sharers = NULL, sharers_denied_until = NULL",
    to: "sharers = NULL",
  },
  {
    fault: "names one waiter of a shared request at a time",
    caughtBy: "release() of an exclusive claim removes all waiters of shared requests, and names one of them",
    from: /array_agg\(entry ORDER BY entry\) (FILTER \(WHERE substr\(entry, 17, 1\) = 's'\))/g,
    to: "ARRAY[min(entry) $1]",
  },
  {
    fault: "names sharers after sharers while a writer waits",
    caughtBy: "release() of the last shared claim names the first exclusive waiter before waiters of shared requests",
    from: "AND NOT was_shared",
    to: "AND true",
  },
  {
    fault: "ignores the floor for one resource",
    caughtBy: "acquire() grants one more than the floor if the counter is lower, through either client",
    from: ", 1 + (SELECT floor FROM stage))",
    to: ")",
  },
  {
    fault: "ignores the floor for several resources",
    caughtBy: "acquire() of several resources grants one more than the highest of the floor and their counters",
    from: ", 1 + floor)",
    to: ")",
  },
  {
    fault: "lets sharers join below the floor",
    caughtBy:
      "acquire() of a shared claim grants one more than the floor, or the floor itself if it joins lower counters",
    from: "THEN floor ELSE $4::bigint END)",
    to: "THEN 0 ELSE $4::bigint END)",
  },
  {
    fault: "serves clients of every epoch",
    caughtBy: "acquire() is served if its epoch differs from that of the node by 1 at most, and no other",
    from: "epoch > 0 AND abs",
    to: "false AND abs",
  },
];
