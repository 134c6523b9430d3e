import type { LuaEdit } from "@holdfast/testkit/lua";

/** The lock script with a fault edited into its Lua files. */
export interface ScriptMutant {
  /** The fault, completing "a node that …". */
  readonly fault: string;
  readonly edits: readonly LuaEdit[];
}

/** A mutant that a test of the conformance suite catches. */
export interface NodeMutant extends ScriptMutant {
  /** The statement of that test. */
  readonly caughtBy: string;
}

/** Returns edits of both paths of acquire. */
function inAcquires(from: [short: string, general: string], to: [short: string, general: string]): readonly LuaEdit[] {
  return [
    { file: "acquire-one.lua", from: from[0], to: to[0] },
    { file: "acquire.lua", from: from[1], to: to[1] },
  ];
}

const shortClaim = "call('SET', lockKey, owner, 'PX', ttlMs)";
const claim = "call('SET', KEYS[i], owner, 'PX', ttlMs)";
const claims: [string, string] = [shortClaim, claim];
const clamps: [string, string] = ["math.min(hint, latestHint())", "math.min(tonumber(fenceHint), latestHint())"];
const advance = "highest + 1)";
const advanceInExtend = "highest + (joined == count and 0 or 1)";
const isHeld = "local isHeld = mine == count";
const whereDenied = "if retryAfterMs and not isResent then return";
const denial = "return { 'denied', retryAfterMs, held, heldBy }, sharings end";
const raise = "raiseCounters(before, count, counters, fence, fenceHint, keepMs, joins and isMarked)";
const raiseInExtend = "raiseCounters(before, count, counters, fence, atLeast, keepMs, isVoteDoubtful)";

/** Claims without checking the holder, for a node that checks in another call. */
export const blindClaims: readonly LuaEdit[] = [
  { file: "acquire-one.lua", from: "if try('GET', lockKey) then return nil end", to: "" },
  { file: "acquire.lua", from: whereDenied, to: "if false then return" },
];

/** Faults in the script that the conformance suite catches. */
export const nodeMutants: readonly NodeMutant[] = [
  {
    fault: "releases claims of any owner",
    caughtBy: "release() leaves another owner's claim and counter alone",
    edits: [
      {
        file: "release-one.lua",
        from: "if holder ~= owner then",
        to: "if not holder then",
      },
      { file: "release.lua", from: "local isFree = holder == owner", to: "local isFree = holder" },
    ],
  },
  {
    fault: "deletes the counter with a release",
    caughtBy: "release() keeps the counter",
    edits: [
      {
        file: "release-one.lua",
        from: "call('DEL', lockKey)",
        to: "call('DEL', lockKey, 'holdfast:fence:{' .. lockKey .. '}')",
      },
      {
        file: "release.lua",
        from: "call('DEL', key)",
        to: "call('DEL', key, 'holdfast:fence:{' .. key .. '}')",
      },
    ],
  },
  {
    fault: "keeps the counter no longer than the claim",
    caughtBy: "the fence of a grant is one more than the counter, after an expiry",
    edits: [
      ...inAcquires(
        ["highest, lifeMs = 0, keepMs", raise],
        ["highest, lifeMs = 0, ttlMs", raise.replace("keepMs", "ttlMs")],
      ),
      { file: "extend.lua", from: raiseInExtend, to: raiseInExtend.replace("keepMs", "ttlMs") },
    ],
  },
  {
    fault: "does not write the counter of a grant",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    edits: [
      { file: "acquire-one.lua", from: "call('SET', fenceKey, value)", to: "" },
      { file: "acquire-one.lua", from: "call('SET', fenceKey, value, 'PX', lifeMs)", to: "" },
      { file: "acquire.lua", from: raise, to: "" },
    ],
  },
  {
    fault: "does not advance the counter in a grant",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    edits: inAcquires([advance, advance], ["highest)", "highest)"]),
  },
  {
    fault: "counts each of several resources separately",
    caughtBy: "the fence of several resources is one more than their highest counter, for each of them",
    edits: [
      {
        file: "fence-counters.lua",
        from: "math.max(number, counters[i])",
        to: "math.max(counters[i] + 1, tonumber(printed))",
      },
    ],
  },
  {
    fault: "ignores the hint",
    caughtBy: "the fence is exactly the hint if that is above the counter",
    edits: inAcquires(clamps, ["1", "1"]),
  },
  {
    fault: "accepts any hint, however far ahead of its clock",
    caughtBy: "a hint is limited to a day ahead of the store's clock, or of the adapter's",
    edits: inAcquires(clamps, ["hint", "tonumber(fenceHint)"]),
  },
  {
    fault: "keeps only fourteen digits of a counter, as Lua prints numbers",
    caughtBy: "the fence is exactly the hint if that is the time in microseconds",
    edits: [
      {
        file: "acquire-one.lua",
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
    caughtBy: "extend() of a held claim with a fence below the counter returns the unchanged counter",
    edits: [{ file: "fence-counters.lua", from: "math.max(number, counters[i])", to: "number" }],
  },
  {
    fault: "does not raise the counter in an extension",
    caughtBy: "extend() of a held claim raises the counter to the fence",
    edits: [{ file: "extend.lua", from: raiseInExtend, to: `if not isHeld then ${raiseInExtend} end` }],
  },
  {
    fault: "rejoins in an extension without advancing the counter",
    caughtBy: "extend() with rejoin advances the counter, as a grant does",
    edits: [{ file: "extend.lua", from: advanceInExtend, to: "highest" }],
  },
  {
    fault: "rejoins in an extension that must not rejoin",
    caughtBy: "extend() without rejoin of a resource never claimed changes nothing",
    edits: [{ file: "extend.lua", from: "(others > 0 or not mayRejoin)", to: "others > 0" }],
  },
  {
    fault: "rejoins a resource that another owner holds",
    caughtBy: "extend() of another owner's claim returns not held, and changes neither claim nor counter",
    edits: [{ file: "extend.lua", from: "(others > 0 or not mayRejoin)", to: "not mayRejoin" }],
  },
  {
    fault: "extends claims of any owner",
    caughtBy: "extend() of another owner's claim returns not held, and changes neither claim nor counter",
    edits: [{ file: "extend.lua", from: isHeld, to: "local isHeld = mine + others == count" }],
  },
  {
    fault: "treats a claim on some of several resources as a claim on all",
    caughtBy:
      "extend() without rejoin returns not held and changes nothing if the owner holds only some of the resources",
    edits: [{ file: "extend.lua", from: isHeld, to: "local isHeld = mine > 0" }],
  },
  {
    fault: "rejoins although the claim is held",
    caughtBy: "extend() with rejoin of a held claim does not advance the counter, however often it is sent",
    edits: [{ file: "extend.lua", from: isHeld, to: `${isHeld} and not mayRejoin` }],
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
        to: `if retryAfterMs and not isResent then
          for i = before + 1, before + count do if not get(KEYS[i]) then ${claim} end end
          return`,
      },
    ],
  },
  {
    fault: "advances the counter for a claim that it denies",
    caughtBy: "acquire() changes neither holder, ttl nor counter when it is denied",
    edits: [
      {
        file: "acquire.lua",
        from: whereDenied,
        to: whereDenied.replace("return", "call('INCR', KEYS[before + count + 1]) return"),
      },
    ],
  },
  {
    fault: "answers with an error where it should deny",
    caughtBy: "acquire() denies a resource that another owner holds, through either client",
    edits: [{ file: "acquire.lua", from: denial, to: "error({ err = 'ERR it is locked' }) end" }],
  },
  {
    fault: "takes over from any holder",
    caughtBy: "acquire() with takeover from an owner that does not hold the resource is denied",
    edits: [{ file: "acquire.lua", from: "holder ~= takeover", to: "not takeover" }],
  },
  {
    fault: "advances the counter for a resent request",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever its hint",
    edits: [{ file: "acquire.lua", from: "if isResent then", to: "if false then" }],
  },
  {
    fault: "denies a resent request",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever its hint",
    edits: [{ file: "acquire.lua", from: "local isResent = mine == count", to: "local isResent = false" }],
  },
  {
    fault: "grants a resent request with the hinted fence",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever its hint",
    edits: [{ file: "acquire.lua", from: "return exact(highest)", to: "return 0" }],
  },
  {
    fault: "keeps claims until they are released",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    edits: inAcquires(claims, ["call('SET', lockKey, owner)", "call('SET', KEYS[i], owner)"]),
  },
  {
    fault: "expires claims after a few milliseconds, whatever their ttl",
    caughtBy: "a claim with a long ttl lasts without an extension",
    edits: inAcquires(claims, [
      shortClaim.replace("ttlMs", "math.min(ttlMs, 5)"),
      claim.replace("ttlMs", "math.min(ttlMs, 5)"),
    ]),
  },
  {
    fault: "treats milliseconds as seconds",
    caughtBy: "a claim lasts for at least its ttl, and then the resource is free",
    edits: inAcquires(claims, [shortClaim.replace("PX", "EX"), claim.replace("PX", "EX")]),
  },
  {
    fault: "omits the counter of a free resource from inspect()",
    caughtBy: "inspect() of a released resource returns no owner and the last fence",
    edits: [
      {
        file: "inspect.lua",
        from: "local claims = sharing",
        to: "if not holder then highest = 0 end local claims = sharing",
      },
    ],
  },
  {
    fault: "ignores the floor",
    caughtBy: "acquire() grants one more than the floor if the counter is lower, through either client",
    edits: [
      { file: "acquire-one.lua", from: "if floor > highest then highest = floor end", to: "" },
      { file: "acquire.lua", from: "highest = math.max(highest, floor)", to: "" },
    ],
  },
  {
    fault: "ignores the floor for several resources",
    caughtBy: "acquire() of several resources grants one more than the highest of the floor and their counters",
    edits: [{ file: "acquire.lua", from: "highest = math.max(highest, floor)", to: "" }],
  },
];

/** Returns a mutant of shared claims. */
function inSharers(fault: string, caughtBy: string, from: string, to: string, file = "sharers.lua"): NodeMutant {
  return { fault, caughtBy, edits: [{ file, from, to }] };
}

const excludesWriters = "acquire() of an exclusive claim is denied until the last sharer has released";
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
    "several shared claims last until the last of them ends, and then the resource is free",
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
    "if takeover and takeover ~= owner then call('ZREM', set, takeover) end",
    "",
  ),
  inSharers(
    "advances the counter for a claim that joins",
    "acquire() of a shared claim that joins leaves the counter alone, whatever its hint",
    "shared and joined == count and highest > 0",
    "false",
    "acquire.lua",
  ),
  inSharers(
    "does not advance the counter for a shared claim that joins nobody",
    "acquire() of a shared claim advances the counter if it joins nobody, as any grant does",
    "shared and joined == count and highest > 0",
    "shared and highest > 0",
    "acquire.lua",
  ),
  inSharers(
    "does not advance the counters of several resources of which one is joined",
    "acquire() that joins sharers on only some of several resources advances the counter of each",
    "shared and joined == count and highest > 0",
    "shared and joined > 0 and highest > 0",
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
    "holder and holder ~= owner",
    "holder and holder ~= owner and not shared",
    "extend.lua",
  ),
  inSharers(
    "lists sharers whose claims have ended",
    "inspect() lists no sharer that has released or expired",
    "if leftMs >= 0 then claims[i] = leftMs",
    "if leftMs then claims[i] = math.max(leftMs, 0)",
  ),
  inSharers(
    "names one of several readers that wait",
    "release() of an exclusive claim removes all waiters of shared requests, and names one of them",
    "    if #others > 0 then try('ZREMRANGEBYSCORE', list, '-inf', '(0') end\n",
    "",
    "waiting-lists.lua",
  ),
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
    "if sharing and not shared then sharing:reserve(KEYS[i]) end",
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

/** Returns a mutant of the short path of acquire. */
function inAcquireOne(fault: string, from: string, to: string): ScriptMutant {
  return { fault, edits: [{ file: "acquire-one.lua", from, to }] };
}

/** Returns a mutant of the short path of release. */
function inReleaseOne(fault: string, from: string, to: string): ScriptMutant {
  return { fault, edits: [{ file: "release-one.lua", from, to }] };
}

const lifeOfCounter = "if ms == -1 then lifeMs = '0' elseif ms > tonumber(keepMs) then lifeMs = ms end";

/** Faults in which the paths of the script differ, or operations of a call affect each other. */
export const pathMutants: readonly ScriptMutant[] = [
  inAcquireOne("claims held resources in the short path", "if try('GET', lockKey) then return nil end", ""),
  inAcquireOne(
    "does not read the counter in the short path",
    "local counter = try('GET', fenceKey)",
    "local counter = false",
  ),
  inAcquireOne(
    "accepts any counter as a number in the short path",
    "string.find(counter.err or counter, '^%d+$') and tonumber(counter)",
    "tonumber(counter)",
  ),
  inAcquireOne(
    "restarts an invalid counter in the short path",
    "if not highest then return nil end",
    "highest = highest or 0",
  ),
  inAcquireOne("exceeds the largest fence in the short path", "if highest >= fenceMax then return nil end", ""),
  inAcquireOne("ignores the floor in the short path", "if floor > highest then highest = floor end", ""),
  inAcquireOne("serves clients of every epoch in the short path", "if refusal then return refusal end", ""),
  inAcquireOne("accepts any hint in the short path", clamps[0], "hint"),
  inAcquireOne("ignores the hint in the short path", clamps[0], "1"),
  inAcquireOne("does not advance the counter in the short path", advance, "highest)"),
  inAcquireOne("always resets the ttl of a counter in the short path", lifeOfCounter, ""),
  inAcquireOne(
    "sets a ttl, in the short path, on a counter without one",
    "if ms == -1 then lifeMs = '0' elseif ms >",
    "if ms >",
  ),
  inAcquireOne(
    "shortens the ttl of a counter in the short path",
    "elseif ms > tonumber(keepMs) then lifeMs = ms end",
    "end",
  ),
  inAcquireOne(
    "sets a ttl, in the short path, on a counter that is kept forever",
    "if keepMs == '0' or lifeMs == '0' then",
    "if lifeMs == '0' then",
  ),
  inAcquireOne(
    "keeps only fourteen digits of a counter in the short path",
    "string.format('%.0f', fence)",
    "tostring(fence)",
  ),
  inAcquireOne(
    "replies in the short path with a number that clients read inexactly",
    "return fence < 2 ^ 52 and fence or value",
    "return fence",
  ),
  inAcquireOne(
    "replies to every grant of the short path as if it had the hinted fence",
    "if fence == hint then return 0 end",
    "do return 0 end",
  ),
  inAcquireOne("keeps claims of the short path forever", shortClaim, "call('SET', lockKey, owner)"),
  {
    fault: "writes a claim before its counter in the short path",
    edits: [
      { file: "acquire-one.lua", from: shortClaim, to: "" },
      {
        file: "acquire-one.lua",
        from: "local hint = tonumber(fenceHint)",
        to: `local hint = tonumber(fenceHint) ${shortClaim}`,
      },
    ],
  },
  inReleaseOne("releases claims of any owner in the short path", "if holder ~= owner then", "if not holder then"),
  inReleaseOne("ends no shared claim in the short path of release", "then return nil end", "then return 0 end"),
  inReleaseOne(
    "names only one waiter of shared requests in the short path",
    "if next and string.byte(next) == 255 then return nil, first end",
    "",
  ),
  inReleaseOne("frees nothing in the short path, and replies that it did", "call('DEL', lockKey)", ""),
  inReleaseOne("replies that the short path freed nothing", "{ 'next', next } or 1", "{ 'next', next } or 0"),
  inReleaseOne("names no waiter in the short path", "local next = first[1]", "local next"),
  inReleaseOne(
    "keeps, in the short path, the named waiter in the list",
    "try('ZPOPMIN', list)",
    "try('ZRANGE', list, 0, 0, 'WITHSCORES')",
  ),
  inReleaseOne(
    "omits the named waiter from the reply of the short path",
    "return next and { 'next', next } or 1",
    "return 1",
  ),
  inReleaseOne(
    "publishes nothing in the short path",
    "try('PUBLISH', 'holdfast:released:' .. lockKey, next or '')",
    "",
  ),
  inReleaseOne("omits the next waiter from the message of the short path", "lockKey, next or '')", "lockKey, '')"),
  {
    fault: "makes abandoned claims in the short path",
    edits: [
      {
        file: "lock.lua",
        from: "if name == 'acquire-one' and not anyGivenUp then",
        to: "if name == 'acquire-one' then",
      },
    ],
  },
  {
    fault: "replies to an operation with the reply to the previous one",
    edits: [
      { file: "lock.lua", from: "local ok, answer, taken, fields, keys\n", to: "" },
      {
        file: "lock.lua",
        from: "local name = ARGV[5]\n",
        to: "local name = ARGV[5]\nlocal ok, answer, taken, fields, keys\n",
      },
    ],
  },
  {
    fault: "ends a call with the first operation that fails",
    edits: [{ file: "lock.lua", from: "answer = { 'error', message }", to: "return { err = message }" }],
  },
  {
    fault: "uses the waiter of an operation for later ones too",
    edits: [
      {
        file: "general-path.lua",
        from: "local function refuse()",
        to: "local lastWaiter = ''\n  local function refuse()",
      },
      {
        file: "general-path.lua",
        from: "if ok and waiter ~= '' then",
        to: "if waiter ~= '' then lastWaiter = waiter end\n      if ok and waiter ~= '' then",
      },
      { file: "general-path.lua", from: "isAnnounced, ARGV[at + 4])", to: "isAnnounced, lastWaiter)" },
    ],
  },
  {
    fault: "uses the takeover of an operation for later ones too",
    edits: [
      {
        file: "general-path.lua",
        from: "local function refuse()",
        to: "local lastTakeover = ''\n  local function refuse()",
      },
      {
        file: "general-path.lua",
        from: "local takeover, waiter = ARGV[at + 7], ARGV[at + 8]",
        to: `local takeover, waiter = ARGV[at + 7], ARGV[at + 8]
        if takeover == '' then takeover = lastTakeover else lastTakeover = takeover end`,
      },
    ],
  },
];
