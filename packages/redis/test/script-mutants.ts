import type { LuaEdit } from "@holdfast/testkit/lua";

/** The scripts with a fault edited into their Lua files. */
export interface ScriptMutant {
  /** The fault, completing "a node that …". */
  readonly fault: string;
  /** A fault of a node is in both scripts, as either would hide that of the other. */
  readonly edits: readonly LuaEdit[];
}

/** A mutant that a test of the conformance suite catches. */
export interface NodeMutant extends ScriptMutant {
  /** The statement of that test. */
  readonly caughtBy: string;
}

/** Returns edits of the acquires of both scripts. */
function inAcquires(
  from: [common: string, general: string],
  to: [common: string, general: string],
): readonly LuaEdit[] {
  return [
    { file: "common.lua", from: from[0], to: to[0] },
    { file: "acquire.lua", from: from[1], to: to[1] },
  ];
}

const commonClaim = "try('SET', lock, owner, 'NX', 'PX', ARGV[at + 2])";
const claim = "call('SET', KEYS[i], owner, 'PX', ttlMs)";
const claims: [string, string] = [commonClaim, claim];
const commonHint = "local fence = hint\n";
const hints: [string, string] = [commonHint, "limited(fenceHint, highest)"];
const isLimited = "if fence > highest + 3600000000 then";
const limit = "hint <= highest + 3600000000 and hint or math.min(hint, nowUs() + 86400000000)";
const commonAdvance = "if fence <= highest then fence = highest + 1 end";
const advances: [string, string] = [commonAdvance, "highest + 1)\n"];
const advanceInExtend = "highest + (joins and 0 or 1)";
const isHeld = "isHeld = isHeld and isMine";
const isTaken = "if not isHeld and other then return { 'held', isOwner(other) and other or '' } end";
const isLost = "if not isHeld and rejoin ~= '1' then return 0 end";
const whereDenied = "if retryAfterMs then return { 'denied', retryAfterMs, held, heldBy } end";
const commonDenial = "return ms < 0 and -1 or { 'denied', ms, 1, holder }";
const commonRaise = "try('SET', counter, mark .. text .. suffix)";
const raise = "raiseCounters(first, last, counters, fence, fenceHint)";
const raises: [string, string] = [commonRaise, raise];
const raiseInExtend = "raiseCounters(first, last, counters, fence, atLeast, isVoteDoubtful)";
const raised = "math.max(number, counter.number)";
const joins = "joins = joins and highest > 0";
const epochRefusals: [string, string] = [
  "if math.abs(ARGV[at + 3] - nodeEpoch) > 1 then return { 'epoch', nodeEpoch } end",
  "if nodeEpoch then return { 'epoch', nodeEpoch } end",
];

/** Claims without checking the holder, for a node that checks in another call. */
export const blindClaims: readonly LuaEdit[] = inAcquires(
  [commonClaim, whereDenied],
  [commonClaim.replace("'NX', ", ""), ""],
);

/** Faults in the script that the conformance suite catches. */
export const nodeMutants: readonly NodeMutant[] = [
  {
    fault: "releases claims of any owner",
    caughtBy: "release() leaves another owner's claim and counter alone",
    edits: [
      { file: "common.lua", from: "if holder ~= ARGV[at] then", to: "if not holder then" },
      { file: "release.lua", from: "local isFree = holder == owner", to: "local isFree = holder" },
    ],
  },
  {
    fault: "deletes the counter with a release",
    caughtBy: "release() frees the owner's claim for the next owner, and keeps the counter",
    edits: [
      {
        // The tag of the slot and the prefix of the test are in the name of the waiting list.
        file: "common.lua",
        from: "try('DEL', lock)",
        to: "math.min(1, try('DEL', lock, 'holdfast:fence:' .. string.match(list, '{%a+}[^:]*:')))",
      },
      { file: "release.lua", from: "call('DEL', key)", to: "call('DEL', key, KEYS[i + 1])" },
    ],
  },
  {
    fault: "keeps the counter no longer than the claim",
    caughtBy: "the fence of a grant is one more than the counter, after an expiry",
    edits: inAcquires(raises, [
      commonRaise.replace("suffix", "suffix, 'PX', ARGV[at + 2]"),
      `${raise} for i = first + 1, last + 1, 4 do call('PEXPIRE', KEYS[i], ttlMs) end`,
    ]),
  },
  {
    fault: "does not write the counter of a grant",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    edits: inAcquires(raises, ["{}", ""]),
  },
  {
    fault: "does not advance the counter in a grant",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    edits: inAcquires(advances, ["if fence < highest then fence = highest end", "highest)\n"]),
  },
  {
    fault: "counts each of several resources separately",
    caughtBy: "the fence of several resources is one more than their highest counter, for each of them",
    edits: [{ file: "fence-counters.lua", from: raised, to: "math.max(counter.number + 1, tonumber(printed))" }],
  },
  {
    fault: "raises the counter of only the first of several resources",
    caughtBy: "the fence of several resources is one more than their highest counter, for each of them",
    edits: [
      {
        file: "fence-counters.lua",
        from: "for i = first + 1, last + 1, 4 do\n    local counter",
        to: "for i = first + 1, first + 1, 4 do\n    local counter",
      },
    ],
  },
  {
    fault: "ignores the hint",
    caughtBy: "the fence is exactly the hint if that is above the counter",
    edits: inAcquires(hints, ["local fence = 1\n", "1"]),
  },
  {
    fault: "accepts any hint, however far ahead of its clock",
    caughtBy: "a hint is limited to a day ahead of the store's clock, or of the adapter's",
    edits: [
      { file: "common.lua", from: isLimited, to: "if false then" },
      { file: "fence-counters.lua", from: limit, to: "hint" },
    ],
  },
  {
    fault: "keeps only fourteen digits of a counter, as Lua prints numbers",
    caughtBy: "the fence is exactly the hint if that is the time in microseconds",
    edits: [
      {
        file: "common.lua",
        from: "fence == hint and fenceHint or string.format('%.0f', fence)",
        to: "tostring(fence)",
      },
      {
        file: "fence-counters.lua",
        from: "raised == tonumber(printed) and printed or digits(raised)",
        to: "tostring(raised)",
      },
    ],
  },
  {
    fault: "accepts a raise although the counter is already higher",
    caughtBy: "extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone",
    edits: [{ file: "fence-counters.lua", from: raised, to: "number" }],
  },
  {
    fault: "does not raise the counter in an extension",
    caughtBy: "extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone",
    edits: [{ file: "extend.lua", from: raiseInExtend, to: `if not isHeld then ${raiseInExtend} end` }],
  },
  {
    fault: "rejoins in an extension without advancing the counter",
    caughtBy: "extend() with rejoin advances the counter, as a grant does",
    edits: [{ file: "extend.lua", from: advanceInExtend, to: "highest" }],
  },
  {
    fault: "rejoins in an extension that must not rejoin",
    caughtBy: "extend() without rejoin of a resource that is free changes nothing",
    edits: [{ file: "extend.lua", from: isLost, to: "" }],
  },
  {
    fault: "rejoins a resource that another owner holds",
    caughtBy: "extend() of another owner's claim returns not held, and changes neither claim nor counter",
    edits: [{ file: "extend.lua", from: isTaken, to: "" }],
  },
  {
    fault: "extends claims of any owner",
    caughtBy: "extend() of another owner's claim returns not held, and changes neither claim nor counter",
    edits: [{ file: "extend.lua", from: isHeld, to: "isHeld = isHeld and (isMine or holder ~= false)" }],
  },
  {
    fault: "treats a claim on some of several resources as a claim on all",
    caughtBy:
      "extend() without rejoin returns not held and changes nothing if the owner holds only some of the resources",
    edits: [{ file: "extend.lua", from: isHeld, to: "isHeld = i > first and isHeld or isMine" }],
  },
  {
    fault: "rejoins although the claim is held",
    caughtBy: "extend() with rejoin of a held claim raises a lower counter to the fence, and leaves a higher one alone",
    edits: [{ file: "extend.lua", from: isTaken, to: `isHeld = isHeld and rejoin == '0' ${isTaken}` }],
  },
  {
    fault: "sets no ttl in an extension",
    caughtBy: "extend() of a held claim makes it last longer",
    edits: [{ file: "extend.lua", from: "call('PEXPIRE', KEYS[i], ttlMs)", to: "" }],
  },
  {
    fault: "shortens a claim when it is extended for less",
    caughtBy: "extend() of a held claim with less than its remaining ttl does not shorten it",
    edits: [{ file: "extend.lua", from: "elseif call('PTTL', KEYS[i]) < tonumber(ttlMs) then", to: "else" }],
  },
  {
    fault: "claims the free ones of several resources before it denies",
    caughtBy: "acquire() denies and changes nothing while another owner holds any of the resources",
    edits: [
      {
        file: "acquire.lua",
        from: whereDenied,
        to: `if retryAfterMs then for i = first, last, 4 do if not get(KEYS[i]) then ${claim} end end end ${whereDenied}`,
      },
    ],
  },
  {
    fault: "advances the counter for a claim that it denies",
    caughtBy: "acquire() changes neither holder, ttl nor counter when it is denied",
    edits: inAcquires(
      [commonDenial, whereDenied],
      [`try('INCR', counter) ${commonDenial}`, `if retryAfterMs then call('INCR', KEYS[first + 1]) end ${whereDenied}`],
    ),
  },
  {
    fault: "answers with an error where it should deny",
    caughtBy: "acquire() denies a resource that another owner holds, through either client",
    edits: inAcquires(
      [commonDenial, whereDenied],
      ["error({ err = 'ERR it is locked' })", "if retryAfterMs then error({ err = 'ERR it is locked' }) end"],
    ),
  },
  {
    fault: "takes over from any holder",
    caughtBy: "acquire() with takeover from an owner that does not hold the resource is denied",
    edits: [
      {
        file: "acquire.lua",
        from: "elseif holder and holder ~= takeover then",
        to: "elseif holder and not takeover then",
      },
    ],
  },
  {
    fault: "advances the counter for a resent request",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever its hint",
    edits: [
      { file: "acquire.lua", from: "if isResent then", to: "if false then" },
      {
        file: "acquire.lua",
        from: whereDenied,
        to: whereDenied.replace("retryAfterMs", "retryAfterMs and not isResent"),
      },
    ],
  },
  {
    fault: "denies a resent request",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever its hint",
    edits: [{ file: "acquire.lua", from: "if isResent then", to: "if false then" }],
  },
  {
    fault: "grants a resent request with the hinted fence",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever its hint",
    edits: [{ file: "acquire.lua", from: "return exact(highest)", to: "return 0" }],
  },
  {
    fault: "keeps claims until they are released",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    edits: inAcquires(claims, ["try('SET', lock, owner, 'NX')", "call('SET', KEYS[i], owner)"]),
  },
  {
    fault: "expires claims after a few milliseconds, whatever their ttl",
    caughtBy: "a claim with a long ttl lasts without an extension",
    edits: inAcquires(claims, [
      commonClaim.replace("ARGV[at + 2]", "math.min(ARGV[at + 2], 5)"),
      claim.replace("ttlMs", "math.min(ttlMs, 5)"),
    ]),
  },
  {
    fault: "treats milliseconds as seconds",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    edits: inAcquires(claims, [commonClaim.replace("PX", "EX"), claim.replace("PX", "EX")]),
  },
  {
    fault: "omits the counter of a free resource from inspect()",
    caughtBy: "inspect() of a free resource returns no owner and the last fence",
    edits: [
      {
        file: "inspect.lua",
        from: "local claims = sharing",
        to: "if not holder then highest = 0 end local claims = sharing",
      },
    ],
  },
  {
    fault: "serves clients of every epoch",
    caughtBy: "acquire() is served if its epoch differs from that of the node by 1 at most, and no other",
    edits: inAcquires(epochRefusals, ["", ""]),
  },
  {
    fault: "raises only the counters that exist to a floor",
    caughtBy: "acquire() grants one more than the floor if the counter is lower, through either client",
    edits: [
      {
        file: "floor.lua",
        from: "local isLower = number < floor or nodeEpoch < epoch",
        to: "local isLower = value and (number < floor or nodeEpoch < epoch)",
      },
    ],
  },
  {
    fault: "sets counters to the floor, also higher ones",
    caughtBy: "acquire() grants one more than the counter if that is not below the floor",
    edits: [
      {
        file: "floor.lua",
        from: "local isLower = number < floor or nodeEpoch < epoch",
        to: "if number > 0 and floor > 0 then number = 0 end local isLower = true",
      },
    ],
  },
  {
    fault: "sets epochs instead of raising them",
    caughtBy: "raiseFloor() raises the floor and the epoch each only if it is lower, for both clients",
    edits: [{ file: "floor.lua", from: "nodeEpoch = math.max(nodeEpoch, epoch)", to: "nodeEpoch = epoch" }],
  },
];

/** Returns a mutant of shared claims. */
function inSharers(fault: string, caughtBy: string, from: string, to: string, file = "sharers.lua"): NodeMutant {
  return { fault, caughtBy, edits: [{ file, from, to }] };
}

const excludesWriters =
  "acquire() of an exclusive claim is denied until the last sharer has released, and changes nothing";
const excludesReaders =
  "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing";

/** Faults of shared claims that the conformance suite catches. */
export const sharingMutants: readonly NodeMutant[] = [
  inSharers(
    "treats shared claims as exclusive ones",
    "acquire() of a shared claim joins those of other owners, through either client",
    "sharing:blockerOf(KEYS[i], owner, takeover, shared)",
    "sharing:blockerOf(KEYS[i], owner, takeover, false)",
    "acquire.lua",
  ),
  inSharers(
    "lets an exclusive claim join sharers",
    excludesWriters,
    "return other and endMs - nowMs, other, false",
    "return nil, other, false",
  ),
  inSharers(
    "lets sharers join an exclusive claim",
    excludesReaders,
    "elseif holder and holder ~= takeover then",
    "elseif holder and holder ~= takeover and not shared then",
    "acquire.lua",
  ),
  inSharers(
    "lets a writer in when it takes over one of several sharers",
    "acquire() with takeover of an exclusive claim is denied and changes nothing while another owner shares",
    "if not shared then\n",
    "if takeover and not shared then return nil, nil, false end\n    if not shared then\n",
  ),
  inSharers(
    "frees a shared resource with the first release",
    "release() of one shared claim leaves the others, and keeps the counter",
    "if other then alignExpiry(lockKey, self.set, endMs) else",
    "do",
  ),
  inSharers(
    "keeps a shared resource until its ttl ends, although all have released it",
    excludesWriters,
    "else call('DEL', lockKey, self.set) end",
    "end",
  ),
  inSharers(
    "replies that a sharer has released, and keeps its claim",
    "release() of one shared claim leaves the others, and keeps the counter",
    "call('ZREM', self.set, owner)",
    "",
  ),
  inSharers(
    "counts sharers whose claims have ended",
    "a shared claim that has expired counts no longer, while another one lasts",
    "return endMs and endMs >= nowMs and endMs or nil",
    "return endMs or nil",
  ),
  inSharers(
    "lets the lock key end with the sharer that joined last",
    "a shared claim outlasts a shorter one that joins, is extended, expires or is released",
    "local _, longestMs = self:longestOf()",
    "local longestMs = nowMs + ttlMs",
  ),
  inSharers(
    "lets the lock key end with the first sharer",
    "shared claims last until the last of them ends, and then the resource is free",
    "    call('PEXPIREAT', lockKey, digits(untilMs))\n",
    "",
  ),
  inSharers(
    "shortens a shared claim when it is extended for less",
    "extend() of a shared claim with less than its remaining ttl does not shorten it",
    "if self:endOf(owner) < nowMs + ttlMs then self:join(lockKey, owner, ttlMs) end",
    "self:join(lockKey, owner, ttlMs)",
  ),
  inSharers(
    "does not prolong a shared claim",
    "extend() of a shared claim prolongs that claim and no other",
    "if self:endOf(owner) < nowMs + ttlMs then self:join(lockKey, owner, ttlMs) end",
    "",
  ),
  inSharers(
    "keeps the sharer whose claim was taken over",
    "acquire() with takeover passes one of several shared claims on, and leaves the counter and the others alone",
    "if takeover and takeover ~= owner then call('ZREM', self.set, takeover) end",
    "",
  ),
  inSharers(
    "advances the counter for a claim that joins",
    "acquire() of a shared claim that joins leaves the counter alone, whatever its hint",
    joins,
    "joins = false",
    "acquire.lua",
  ),
  inSharers(
    "does not advance the counter for a shared claim that joins nobody",
    "acquire() of a shared claim advances the counter if it joins nobody, as any grant does",
    joins,
    "joins = shared and highest > 0",
    "acquire.lua",
  ),
  inSharers(
    "does not advance the counters of several resources of which one is joined",
    "acquire() that joins sharers on only some of several resources advances the counter of each",
    "joins = joins and sharing and sharing:longestOf(owner, takeover)",
    "joins = shared and (i > first and joins or sharing and sharing:longestOf(owner, takeover))",
    "acquire.lua",
  ),
  inSharers(
    "advances the counter when a sharer rejoins others",
    "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence",
    advanceInExtend,
    "highest + 1",
    "extend.lua",
  ),
  inSharers(
    "does not advance the counter when a sharer rejoins nobody",
    "extend() with rejoin of a shared claim advances the counter if it joins nobody, and others can join it",
    advanceInExtend,
    "highest + (shared and 0 or 1)",
    "extend.lua",
  ),
  inSharers(
    "lets a sharer rejoin an exclusive claim",
    "extend() with rejoin changes nothing while another owner holds the resource and either claim is exclusive",
    "if holder and not isMine and not isJoined then other",
    "if holder and not isMine and not isJoined and not shared then other",
    "extend.lua",
  ),
  inSharers(
    "lists sharers whose claims have ended",
    "inspect() lists no sharer that has released or expired",
    "if leftMs >= 0 then claims[i] = leftMs",
    "if leftMs then claims[i] = math.max(leftMs, 0)",
  ),
  {
    fault: "names one of several readers that wait",
    caughtBy: "release() of an exclusive claim removes all waiters of shared requests, and names one of them",
    edits: [
      { file: "common.lua", from: "    try('ZREMRANGEBYSCORE', list, '-inf', '(0')\n", to: "" },
      {
        file: "waiting-lists.lua",
        from: "    if #others > 0 then try('ZREMRANGEBYSCORE', list, '-inf', '(0') end\n",
        to: "",
      },
    ],
  },
  inSharers(
    "names readers and writers in the order in which they joined",
    "release() names waiters of shared requests before exclusive ones that joined earlier",
    "local sharedOffset = -2 ^ 53",
    "local sharedOffset = 0",
    "waiting-lists.lua",
  ),
  inSharers(
    "names readers after readers, although a writer waits",
    "release() of the last shared claim names the first exclusive waiter before waiters of shared requests",
    "if isAfterSharers then",
    "if false then",
    "waiting-lists.lua",
  ),
  inSharers(
    "lets readers follow each other without a gap, although a writer waits",
    "acquire() of a shared claim does not join once an exclusive request with a waiter was denied",
    "if sharing and not shared then sharing.reserve(KEYS[i]) end",
    "",
    "waiting-lists.lua",
  ),
  inSharers(
    "lets sharers hand over to each other, although a writer waits",
    "acquire() with takeover of a shared claim is denied likewise, so that sharers do not hand over forever",
    "return isReserved and reservedMs or nil, longest, false",
    "return isReserved and not takeover and reservedMs or nil, longest, false",
  ),
];

/** Returns a mutant of the common script. */
function inCommon(fault: string, from: string, to: string): ScriptMutant {
  return { fault: `${fault} in the common script`, edits: [{ file: "common.lua", from, to }] };
}

/** Returns a mutant of the lock script. */
function inGeneral(fault: string, file: string, from: string, to: string): ScriptMutant {
  return { fault: `${fault} in the lock script`, edits: [{ file, from, to }] };
}

const counterPattern = "string.match(value.err or value, '^(0?)(%d+) ?(%d*)$')";
const popNext = "try('ZPOPMIN', list)[1], nil";
const publishNext = "try('PUBLISH', channel, next or '')";
const isLive = "if string.byte(marks, number) ~= 120 then";
const failed = "answer = { 'error', message }";

/** Faults in which the scripts differ, or operations of a call affect each other. */
export const pathMutants: readonly ScriptMutant[] = [
  inCommon("claims held resources", commonClaim, commonClaim.replace("'NX', ", "")),
  inCommon("does not read the counter", "try('GET', counter)", "false"),
  inCommon("accepts any counter as a number", counterPattern, "string.match(value.err or value, '(0?)(%d+) ?(%d*)')"),
  inCommon(
    "restarts an invalid counter",
    "if not highest then return -1 end",
    "mark, highest, nodeEpoch = mark or '', highest or 0, nodeEpoch or ''",
  ),
  inCommon("exceeds the largest fence", "if fence >= 2 ^ 53 then return -1 end", ""),
  inCommon("serves clients of every epoch", epochRefusals[0], ""),
  inCommon(
    "serves only clients of its own epoch",
    "math.abs(ARGV[at + 3] - nodeEpoch) > 1",
    "math.abs(ARGV[at + 3] - nodeEpoch) > 0",
  ),
  inCommon("ignores the epoch of a counter", "if nodeEpoch ~= '' then", "if false then"),
  inCommon("drops the epoch of a counter", "text .. suffix", "text"),
  inCommon("drops the mark of a counter", "mark .. text", "text"),
  inCommon("accepts any hint", isLimited, "if false then"),
  inCommon("limits hints that are close to the counter", isLimited, "if true then"),
  inCommon("ignores the hint", commonHint, "local fence = 1\n"),
  inCommon("does not advance the counter", commonAdvance, "if fence < highest then fence = highest end"),
  inCommon("does not write the counter", commonRaise, "{}"),
  inCommon("keeps only fourteen digits of a counter", "string.format('%.0f', fence)", "tostring(fence)"),
  inCommon(
    "replies with a number that clients read inexactly",
    "return fence < 2 ^ 52 and fence or text",
    "return fence",
  ),
  inCommon(
    "replies to every grant as if it had the hinted fence",
    "if fence == hint then return 0 end",
    "do return 0 end",
  ),
  inCommon("keeps claims forever", commonClaim, "try('SET', lock, owner, 'NX')"),
  inCommon(
    "replies with an error where the server may not write",
    "if claimed.err then",
    "if claimed.err then return nil, claimed end\n  if false then",
  ),
  inCommon("denies a claim of its own owner", " or holder == owner", ""),
  inCommon("names the value of another program", " or not string.find(holder, string.rep('%x', 32) .. '%.?%d*$')", ""),
  inCommon("names a long value", "#holder >= 512 or ", ""),
  inCommon("names nobody in a denial", commonDenial, "return ms < 0 and -1 or { 'denied', ms, 1 }"),
  inCommon("releases claims of any owner", "if holder ~= ARGV[at] then", "if not holder then"),
  inCommon("ends no shared claim", "holder.err or string.byte(holder, 16) == 255", "holder.err"),
  inCommon("frees nothing, and replies that it did", "try('DEL', lock)", "1"),
  inCommon("replies that it freed nothing", "{ 'next', next } or 1", "{ 'next', next } or 0"),
  inCommon("names no waiter", popNext, "nil, nil"),
  inCommon("keeps the named waiter in the list", popNext, "try('ZRANGE', list, 0, 0)[1], nil"),
  inCommon("omits the named waiter from the reply", "return next and { 'next', next } or 1", "return 1"),
  inCommon("publishes nothing", publishNext, ""),
  inCommon("omits the next waiter from the message", publishNext, "try('PUBLISH', channel, '')"),
  inCommon(
    "keeps the other waiters of shared requests in the list",
    "    try('ZREMRANGEBYSCORE', list, '-inf', '(0')\n",
    "",
  ),
  inCommon("names waiters of shared requests singly", "if others and others[1] then", "if false then"),
  inCommon(
    "announces the other waiters of shared requests in a message of nobody",
    "channel, string.sub(other, 2)",
    "channel, ''",
  ),
  inCommon("makes abandoned claims", "if letter == 'a' then", "if letter == 'a' or letter == 'x' then"),
  {
    fault: "replies to an operation as to the previous one in the common script",
    edits: [
      { file: "common.lua", from: "local letters, reply", to: "local answer\nlocal letters, reply" },
      { file: "common.lua", from: "local letter, first, answer, failure", to: "local letter, first, failure" },
    ],
  },
  inCommon("ends a call with the first operation that fails", "answer = { 'error', failure.err }", "return failure"),

  inGeneral("makes abandoned claims", "lock.lua", isLive, "if true then"),
  {
    fault: "replies to an operation as to the previous one in the lock script",
    edits: [
      {
        file: "lock.lua",
        from: "local ok, answer = false, { err = 'ERR this was given up before it was sent' }",
        to: "",
      },
      { file: "lock.lua", from: "local marks, reply", to: "local ok, answer = true, 0\nlocal marks, reply" },
    ],
  },
  inGeneral("ends a call with the first operation that fails", "lock.lua", failed, "return { err = message }"),
  inGeneral("claims held resources", "acquire.lua", whereDenied, ""),
  inGeneral("serves clients of every epoch", "acquire.lua", epochRefusals[1], ""),
  inGeneral(
    "drops the epoch of a counter",
    "fence-counters.lua",
    "if counter.epoch ~= '' then value = value .. ' ' .. counter.epoch end",
    "",
  ),
  inGeneral(
    "drops the mark of a counter",
    "fence-counters.lua",
    "if mark or ARGV[3] == '0' and counter.mark ~= ''",
    "if mark",
  ),
  inGeneral("accepts any hint", "fence-counters.lua", limit, "hint"),
  inGeneral(
    "limits hints that are close to the counter",
    "fence-counters.lua",
    "hint <= highest + 3600000000",
    "false",
  ),
  inGeneral("names no holder", "acquire.lua", "isOwner(by) and by or ''", "''"),
  {
    fault: "uses the waiter of an operation for later ones too",
    edits: [
      { file: "acquire.lua", from: "local function acquire(", to: "local lastWaiter = ''\nlocal function acquire(" },
      {
        file: "acquire.lua",
        from: "if waiter ~= '' then\n",
        to: "if waiter == '' then waiter = lastWaiter else lastWaiter = waiter end\nif waiter ~= '' then\n",
      },
    ],
  },
  {
    fault: "uses the takeover of an operation for later ones too",
    edits: [
      { file: "acquire.lua", from: "local function acquire(", to: "local lastTakeover\nlocal function acquire(" },
      {
        file: "acquire.lua",
        from: "if takeover == '' then takeover = nil end",
        to: "if takeover == '' then takeover = lastTakeover else lastTakeover = takeover end",
      },
    ],
  },
];

/** A node that sends {@link blindClaims} after it has looked by itself. */
export const twoSteps = {
  fault: "looks who holds the resource in one call, and claims it in another",
  caughtBy: "acquire() grants exactly one of 100 claims sent at once, in every round",
} as const;
