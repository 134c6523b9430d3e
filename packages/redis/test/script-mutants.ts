import type { LuaEdit } from "@holdfast/testkit/lua";

/** What catches faults in which the scripts differ, or operations of a call affect each other. */
export const histories = "the comparison of random histories";

/** A node with a fault, which is edited into the Lua files of its scripts. */
export class ScriptMutant {
  /** Completes "a node that …". */
  readonly fault: string;
  readonly edits: LuaEdit[] = [];
  /** The statement of the test that catches it: one of the conformance suite, or {@link histories}. */
  statement: string = histories;

  constructor(fault: string) {
    this.fault = fault;
  }

  caughtBy(statement: string): this {
    this.statement = statement;
    return this;
  }

  edit(file: string, from: string, to: string): this {
    this.edits.push({ file, from, to });
    return this;
  }
}

const aNodeThat = (fault: string): ScriptMutant => new ScriptMutant(fault);

const commonClaim = "try('SET', lock, owner, 'NX', 'PX', ARGV[at + 2])";
const claim = "call('SET', KEYS[i], owner, 'PX', ttlMs)";
const commonHint = "local fence = hint\n";
const hint = "limited(fenceHint, highest)";
const isLimited = "if fence > highest + 3600000000 then";
const limit = "hint <= highest + 3600000000 and hint or math.min(hint, nowUs() + 86400000000)";
const commonAdvance = "if fence <= highest then fence = highest + 1 end";
const advance = "highest + 1)\n";
const advanceInExtend = "highest + (joins and 0 or 1)";
const isHeld = "isHeld = isHeld and isMine";
const isTaken = "if not isHeld and other then return { 'held', isOwner(other) and other or '' } end";
const isLost = "if not isHeld and rejoin ~= '1' then return 0 end";
const whereDenied = "if retryAfterMs then return { 'denied', retryAfterMs, held, heldBy } end";
const commonDenial = "return ms < 0 and -1 or { 'denied', ms, 1, holder }";
const commonRaise = "try('SET', counter, mark .. text .. suffix)";
const raise = "raiseCounters(first, last, counters, fence, fenceHint)";
const raiseInExtend = "raiseCounters(first, last, counters, fence, atLeast, isVoteDoubtful)";
const raised = "math.max(number, counter.number)";
const joins = "joins = joins and highest > 0";
const commonEpochRefusal = "if math.abs(ARGV[at + 3] - nodeEpoch) > 1 then return { 'epoch', nodeEpoch } end";
const epochRefusal = "if nodeEpoch then return { 'epoch', nodeEpoch } end";

const excludesWriters =
  "acquire() of an exclusive claim is denied until the last sharer has released, and changes nothing";
const excludesReaders =
  "acquire() of a shared claim is denied while another owner holds the resource alone, and changes nothing";
const counterPattern = "string.match(value.err or value, '^(0?)(%d+) ?(%d*)$')";
const popNext = "try('ZPOPMIN', list)[1], nil";
const publishNext = "try('PUBLISH', channel, next or '')";
const isLive = "if string.byte(marks, number) ~= 120 then";
const failed = "answer = { 'error', message }";

/** A node that claims without checking the holder, when it has checked in another call. */
export const twoSteps: ScriptMutant = aNodeThat("looks who holds the resource in one call, and claims it in another")
  .caughtBy("acquire() grants exactly one of 100 claims sent at once, in every round")
  .edit("common.lua", commonClaim, commonClaim.replace("'NX', ", ""))
  .edit("acquire.lua", whereDenied, "");

const mutants: readonly ScriptMutant[] = [
  // Faults that the conformance suite catches. Most are in both scripts, as either would hide that of the other.
  aNodeThat("releases claims of any owner")
    .caughtBy("release() leaves another owner's claim and counter alone")
    .edit("common.lua", "if holder ~= ARGV[at] then", "if not holder then")
    .edit("release.lua", "local isFree = holder == owner", "local isFree = holder"),
  aNodeThat("deletes the counter with a release")
    .caughtBy("release() frees the owner's claim for the next owner, and keeps the counter")
    // The tag of the slot and the prefix of the test are in the name of the waiting list.
    .edit(
      "common.lua",
      "try('DEL', lock)",
      "math.min(1, try('DEL', lock, 'holdfast:fence:' .. string.match(list, '{%a+}[^:]*:')))",
    )
    .edit("release.lua", "call('DEL', key)", "call('DEL', key, KEYS[i + 1])"),
  aNodeThat("keeps the counter no longer than the claim")
    .caughtBy("the fence of a grant is one more than the counter, after an expiry")
    .edit("common.lua", commonRaise, commonRaise.replace("suffix", "suffix, 'PX', ARGV[at + 2]"))
    .edit("acquire.lua", raise, `${raise} for i = first + 1, last + 1, 4 do call('PEXPIRE', KEYS[i], ttlMs) end`),
  aNodeThat("does not write the counter of a grant")
    .caughtBy("the fence of a grant is one more than the counter, after a release by either client")
    .edit("common.lua", commonRaise, "{}")
    .edit("acquire.lua", raise, ""),
  aNodeThat("does not advance the counter in a grant")
    .caughtBy("the fence of a grant is one more than the counter, after a release by either client")
    .edit("common.lua", commonAdvance, "if fence < highest then fence = highest end")
    .edit("acquire.lua", advance, "highest)\n"),
  aNodeThat("counts each of several resources separately")
    .caughtBy("the fence of several resources is one more than their highest counter, for each of them")
    .edit("fence-counters.lua", raised, "math.max(counter.number + 1, tonumber(printed))"),
  aNodeThat("raises the counter of only the first of several resources")
    .caughtBy("the fence of several resources is one more than their highest counter, for each of them")
    .edit(
      "fence-counters.lua",
      "for i = first + 1, last + 1, 4 do\n    local counter",
      "for i = first + 1, first + 1, 4 do\n    local counter",
    ),
  aNodeThat("ignores the hint")
    .caughtBy("the fence is exactly the hint if that is above the counter")
    .edit("common.lua", commonHint, "local fence = 1\n")
    .edit("acquire.lua", hint, "1"),
  aNodeThat("accepts any hint, however far ahead of its clock")
    .caughtBy("a hint is limited to a day ahead of the store's clock, or of the adapter's")
    .edit("common.lua", isLimited, "if false then")
    .edit("fence-counters.lua", limit, "hint"),
  aNodeThat("keeps only fourteen digits of a counter, as Lua prints numbers")
    .caughtBy("the fence is exactly the hint if that is the time in microseconds")
    .edit("common.lua", "fence == hint and fenceHint or string.format('%.0f', fence)", "tostring(fence)")
    .edit("fence-counters.lua", "raised == tonumber(printed) and printed or digits(raised)", "tostring(raised)"),
  aNodeThat("accepts a raise although the counter is already higher")
    .caughtBy("extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone")
    .edit("fence-counters.lua", raised, "number"),
  aNodeThat("does not raise the counter in an extension")
    .caughtBy("extend() of a held claim raises a lower counter to the fence, and leaves a higher one alone")
    .edit("extend.lua", raiseInExtend, `if not isHeld then ${raiseInExtend} end`),
  aNodeThat("rejoins in an extension without advancing the counter")
    .caughtBy("extend() with rejoin advances the counter, as a grant does")
    .edit("extend.lua", advanceInExtend, "highest"),
  aNodeThat("rejoins in an extension that must not rejoin")
    .caughtBy("extend() without rejoin of a resource that is free changes nothing")
    .edit("extend.lua", isLost, ""),
  aNodeThat("rejoins a resource that another owner holds")
    .caughtBy("extend() of another owner's claim returns not held, and changes neither claim nor counter")
    .edit("extend.lua", isTaken, ""),
  aNodeThat("extends claims of any owner")
    .caughtBy("extend() of another owner's claim returns not held, and changes neither claim nor counter")
    .edit("extend.lua", isHeld, "isHeld = isHeld and (isMine or holder ~= false)"),
  aNodeThat("treats a claim on some of several resources as a claim on all")
    .caughtBy(
      "extend() without rejoin returns not held and changes nothing if the owner holds only some of the resources",
    )
    .edit("extend.lua", isHeld, "isHeld = i > first and isHeld or isMine"),
  aNodeThat("rejoins although the claim is held")
    .caughtBy("extend() with rejoin of a held claim raises a lower counter to the fence, and leaves a higher one alone")
    .edit("extend.lua", isTaken, `isHeld = isHeld and rejoin == '0' ${isTaken}`),
  aNodeThat("sets no ttl in an extension")
    .caughtBy("extend() of a held claim makes it last for the ttl of the request from then on")
    .edit("extend.lua", "call('PEXPIRE', KEYS[i], ttlMs)", ""),
  aNodeThat("shortens a claim when it is extended for less")
    .caughtBy("extend() of a held claim with less than its remaining ttl does not shorten it")
    .edit("extend.lua", "elseif call('PTTL', KEYS[i]) < tonumber(ttlMs) then", "else"),
  aNodeThat("claims the free ones of several resources before it denies")
    .caughtBy("acquire() denies and changes nothing while another owner holds any of the resources")
    .edit(
      "acquire.lua",
      whereDenied,
      `if retryAfterMs then for i = first, last, 4 do if not get(KEYS[i]) then ${claim} end end end ${whereDenied}`,
    ),
  aNodeThat("advances the counter for a claim that it denies")
    .caughtBy("acquire() changes neither holder, ttl nor counter when it is denied")
    .edit("common.lua", commonDenial, `try('INCR', counter) ${commonDenial}`)
    .edit("acquire.lua", whereDenied, `if retryAfterMs then call('INCR', KEYS[first + 1]) end ${whereDenied}`),
  aNodeThat("answers with an error where it should deny")
    .caughtBy("acquire() denies a resource that another owner holds, through either client")
    .edit("common.lua", commonDenial, "return nil, { err = 'ERR it is locked' }")
    .edit("acquire.lua", whereDenied, "if retryAfterMs then error({ err = 'ERR it is locked' }) end"),
  aNodeThat("takes over from any holder")
    .caughtBy("acquire() with takeover from an owner that does not hold the resource is denied")
    .edit("acquire.lua", "elseif holder and holder ~= takeover then", "elseif holder and not takeover then"),
  aNodeThat("advances the counter for a resent request")
    .caughtBy("acquire() resent by the holder grants again with the same fence, whatever its hint")
    .edit("acquire.lua", "if isResent then", "if false then")
    .edit("acquire.lua", whereDenied, whereDenied.replace("retryAfterMs", "retryAfterMs and not isResent")),
  aNodeThat("denies a resent request")
    .caughtBy("acquire() resent by the holder grants again with the same fence, whatever its hint")
    .edit("acquire.lua", "if isResent then", "if false then"),
  aNodeThat("grants a resent request with the hinted fence")
    .caughtBy("acquire() resent by the holder grants again with the same fence, whatever its hint")
    .edit("acquire.lua", "return exact(highest)", "return 0"),
  aNodeThat("keeps claims until they are released")
    .caughtBy("a claim lasts for at least its ttl, and then the resource is free")
    .edit("common.lua", commonClaim, "try('SET', lock, owner, 'NX')")
    .edit("acquire.lua", claim, "call('SET', KEYS[i], owner)"),
  aNodeThat("expires claims after a few milliseconds, whatever their ttl")
    .caughtBy("a claim with a long ttl lasts without an extension")
    .edit("common.lua", commonClaim, commonClaim.replace("ARGV[at + 2]", "math.min(ARGV[at + 2], 5)"))
    .edit("acquire.lua", claim, claim.replace("ttlMs", "math.min(ttlMs, 5)")),
  aNodeThat("treats milliseconds as seconds")
    .caughtBy("a claim lasts for at least its ttl, and then the resource is free")
    .edit("common.lua", commonClaim, commonClaim.replace("PX", "EX"))
    .edit("acquire.lua", claim, claim.replace("PX", "EX")),
  aNodeThat("omits the counter of a free resource from inspect()")
    .caughtBy("inspect() of a free resource returns no owner and the last fence")
    .edit("inspect.lua", "local claims = sharing", "if not holder then highest = 0 end local claims = sharing"),
  aNodeThat("serves clients of every epoch")
    .caughtBy("acquire() is served if its epoch differs from that of the node by 1 at most, and no other")
    .edit("common.lua", commonEpochRefusal, "")
    .edit("acquire.lua", epochRefusal, ""),
  aNodeThat("raises only the counters that exist to a floor")
    .caughtBy("acquire() grants one more than the floor if the counter is lower, through either client")
    .edit(
      "floor.lua",
      "local isLower = number < floor or nodeEpoch < epoch",
      "local isLower = value and (number < floor or nodeEpoch < epoch)",
    ),
  aNodeThat("sets counters to the floor, also higher ones")
    .caughtBy("acquire() grants one more than the counter if that is not below the floor")
    .edit(
      "floor.lua",
      "local isLower = number < floor or nodeEpoch < epoch",
      "if number > 0 and floor > 0 then number = 0 end local isLower = true",
    ),
  aNodeThat("sets epochs instead of raising them")
    .caughtBy("raiseFloor() raises the floor and the epoch each only if it is lower, for both clients")
    .edit("floor.lua", "nodeEpoch = math.max(nodeEpoch, epoch)", "nodeEpoch = epoch"),

  // Faults of shared claims.
  aNodeThat("treats shared claims as exclusive ones")
    .caughtBy("acquire() of a shared claim joins those of other owners, through either client")
    .edit(
      "acquire.lua",
      "sharing:blockerOf(KEYS[i], owner, takeover, shared)",
      "sharing:blockerOf(KEYS[i], owner, takeover, false)",
    ),
  aNodeThat("lets an exclusive claim join sharers")
    .caughtBy(excludesWriters)
    .edit("sharers.lua", "return other and endMs - nowMs, other, false", "return nil, other, false"),
  aNodeThat("lets sharers join an exclusive claim")
    .caughtBy(excludesReaders)
    .edit(
      "acquire.lua",
      "elseif holder and holder ~= takeover then",
      "elseif holder and holder ~= takeover and not shared then",
    ),
  aNodeThat("lets a writer in when it takes over one of several sharers")
    .caughtBy("acquire() with takeover of an exclusive claim is denied and changes nothing while another owner shares")
    .edit(
      "sharers.lua",
      "if not shared then\n",
      "if takeover and not shared then return nil, nil, false end\n    if not shared then\n",
    ),
  aNodeThat("frees a shared resource with the first release")
    .caughtBy("release() of one shared claim leaves the others, and keeps the counter")
    .edit("sharers.lua", "if other then alignExpiry(lockKey, self.set, endMs) else", "do"),
  aNodeThat("keeps a shared resource until its ttl ends, although all have released it")
    .caughtBy(excludesWriters)
    .edit("sharers.lua", "else call('DEL', lockKey, self.set) end", "end"),
  aNodeThat("replies that a sharer has released, and keeps its claim")
    .caughtBy("release() of one shared claim leaves the others, and keeps the counter")
    .edit("sharers.lua", "call('ZREM', self.set, owner)", ""),
  aNodeThat("counts sharers whose claims have ended")
    .caughtBy("a shared claim that has expired counts no longer, while another one lasts")
    .edit("sharers.lua", "return endMs and endMs >= nowMs and endMs or nil", "return endMs or nil"),
  aNodeThat("lets the lock key end with the sharer that joined last")
    .caughtBy("a shared claim outlasts a shorter one that joins, is extended, expires or is released")
    .edit("sharers.lua", "local _, longestMs = self:longestOf()", "local longestMs = nowMs + ttlMs"),
  aNodeThat("lets the lock key end with the first sharer")
    .caughtBy("shared claims last until the last of them ends, and then the resource is free")
    .edit("sharers.lua", "    call('PEXPIREAT', lockKey, digits(untilMs))\n", ""),
  aNodeThat("shortens a shared claim when it is extended for less")
    .caughtBy("extend() of a shared claim with less than its remaining ttl does not shorten it")
    .edit(
      "sharers.lua",
      "if self:endOf(owner) < nowMs + ttlMs then self:join(lockKey, owner, ttlMs) end",
      "self:join(lockKey, owner, ttlMs)",
    ),
  aNodeThat("does not prolong a shared claim")
    .caughtBy("extend() of a shared claim prolongs that claim and no other")
    .edit("sharers.lua", "if self:endOf(owner) < nowMs + ttlMs then self:join(lockKey, owner, ttlMs) end", ""),
  aNodeThat("keeps the sharer whose claim was taken over")
    .caughtBy(
      "acquire() with takeover passes one of several shared claims on, and leaves the counter and the others alone",
    )
    .edit("sharers.lua", "if takeover and takeover ~= owner then call('ZREM', self.set, takeover) end", ""),
  aNodeThat("advances the counter for a claim that joins")
    .caughtBy("acquire() of a shared claim that joins leaves the counter alone, whatever its hint")
    .edit("acquire.lua", joins, "joins = false"),
  aNodeThat("does not advance the counter for a shared claim that joins nobody")
    .caughtBy("acquire() of a shared claim advances the counter if it joins nobody, as any grant does")
    .edit("acquire.lua", joins, "joins = shared and highest > 0"),
  aNodeThat("does not advance the counters of several resources of which one is joined")
    .caughtBy("acquire() that joins sharers on only some of several resources advances the counter of each")
    .edit(
      "acquire.lua",
      "joins = joins and sharing and sharing:longestOf(owner, takeover)",
      "joins = shared and (i > first and joins or sharing and sharing:longestOf(owner, takeover))",
    ),
  aNodeThat("advances the counter when a sharer rejoins others")
    .caughtBy(
      "extend() with rejoin of a shared claim joins the sharers, and raises the counter no further than its fence",
    )
    .edit("extend.lua", advanceInExtend, "highest + 1"),
  aNodeThat("does not advance the counter when a sharer rejoins nobody")
    .caughtBy("extend() with rejoin of a shared claim advances the counter if it joins nobody, and others can join it")
    .edit("extend.lua", advanceInExtend, "highest + (shared and 0 or 1)"),
  aNodeThat("lets a sharer rejoin an exclusive claim")
    .caughtBy(
      "extend() with rejoin changes nothing while another owner holds the resource and either claim is exclusive",
    )
    .edit(
      "extend.lua",
      "if holder and not isMine and not isJoined then other",
      "if holder and not isMine and not isJoined and not shared then other",
    ),
  aNodeThat("lists sharers whose claims have ended")
    .caughtBy("inspect() lists no sharer that has released or expired")
    .edit("sharers.lua", "if leftMs >= 0 then claims[i] = leftMs", "if leftMs then claims[i] = math.max(leftMs, 0)"),
  aNodeThat("names one of several readers that wait")
    .caughtBy("release() of an exclusive claim removes all waiters of shared requests, and names one of them")
    .edit("common.lua", "    try('ZREMRANGEBYSCORE', list, '-inf', '(0')\n", "")
    .edit("waiting-lists.lua", "    if #others > 0 then try('ZREMRANGEBYSCORE', list, '-inf', '(0') end\n", ""),
  aNodeThat("names readers and writers in the order in which they joined")
    .caughtBy("release() names waiters of shared requests before exclusive ones that joined earlier")
    .edit("waiting-lists.lua", "local sharedOffset = -2 ^ 53", "local sharedOffset = 0"),
  aNodeThat("names readers after readers, although a writer waits")
    .caughtBy("release() of the last shared claim names the first exclusive waiter before waiters of shared requests")
    .edit("waiting-lists.lua", "if isAfterSharers then", "if false then"),
  aNodeThat("lets readers follow each other without a gap, although a writer waits")
    .caughtBy("acquire() of a shared claim does not join once an exclusive request with a waiter was denied")
    .edit("waiting-lists.lua", "if sharing and not shared then sharing.reserve(KEYS[i]) end", ""),
  aNodeThat("lets sharers hand over to each other, although a writer waits")
    .caughtBy("acquire() with takeover of a shared claim is denied likewise, so that sharers do not hand over forever")
    .edit(
      "sharers.lua",
      "return isReserved and reservedMs or nil, longest, false",
      "return isReserved and not takeover and reservedMs or nil, longest, false",
    ),

  // Faults of one script.
  aNodeThat("replies to an operation as to the previous one in the common script")
    .edit("common.lua", "local letters, reply", "local answer\nlocal letters, reply")
    .edit("common.lua", "local letter, first, answer, failure", "local letter, first, failure"),
  aNodeThat("replies to an operation as to the previous one in the lock script")
    .edit("lock.lua", "local ok, answer = false, { err = 'ERR this was given up before it was sent' }", "")
    .edit("lock.lua", "local marks, reply", "local ok, answer = true, 0\nlocal marks, reply"),
  aNodeThat("uses the waiter of an operation for later ones too")
    .edit("acquire.lua", "local function acquire(", "local lastWaiter = ''\nlocal function acquire(")
    .edit(
      "acquire.lua",
      "if waiter ~= '' then\n",
      "if waiter == '' then waiter = lastWaiter else lastWaiter = waiter end\nif waiter ~= '' then\n",
    ),
  aNodeThat("uses the takeover of an operation for later ones too")
    .edit("acquire.lua", "local function acquire(", "local lastTakeover\nlocal function acquire(")
    .edit(
      "acquire.lua",
      "if takeover == '' then takeover = nil end",
      "if takeover == '' then takeover = lastTakeover else lastTakeover = takeover end",
    ),
];

/** Further faults of the common script, each with a text of it and what replaces that. */
const commonFaults: readonly [fault: string, from: string, to: string][] = [
  ["does not read the counter", "try('GET', counter)", "false"],
  ["accepts any counter as a number", counterPattern, "string.match(value.err or value, '(0?)(%d+) ?(%d*)')"],
  [
    "restarts an invalid counter",
    "if not highest then return -1 end",
    "mark, highest, nodeEpoch = mark or '', highest or 0, nodeEpoch or ''",
  ],
  ["exceeds the largest fence", "if fence >= 2 ^ 53 then return -1 end", ""],
  [
    "serves only clients of its own epoch",
    "math.abs(ARGV[at + 3] - nodeEpoch) > 1",
    "math.abs(ARGV[at + 3] - nodeEpoch) > 0",
  ],
  ["ignores the epoch of a counter", "if nodeEpoch ~= '' then", "if false then"],
  ["drops the epoch of a counter", "text .. suffix", "text"],
  ["drops the mark of a counter", "mark .. text", "text"],
  ["limits hints that are close to the counter", isLimited, "if true then"],
  ["replies with a number that clients read inexactly", "return fence < 2 ^ 52 and fence or text", "return fence"],
  ["replies to every grant as if it had the hinted fence", "if fence == hint then return 0 end", "do return 0 end"],
  [
    "replies with an error where the server may not write",
    "if claimed.err then",
    "if claimed.err then return nil, claimed end\n  if false then",
  ],
  ["denies a claim of its own owner", " or holder == owner", ""],
  ["names the value of another program", " or not string.find(holder, string.rep('%x', 32) .. '%.?%d*$')", ""],
  ["names a long value", "#holder >= 512 or ", ""],
  ["names nobody in a denial", commonDenial, "return ms < 0 and -1 or { 'denied', ms, 1 }"],
  ["ends no shared claim", "holder.err or string.byte(holder, 16) == 255", "holder.err"],
  ["frees nothing, and replies that it did", "try('DEL', lock)", "1"],
  ["replies that it freed nothing", "{ 'next', next } or 1", "{ 'next', next } or 0"],
  ["names no waiter", popNext, "nil, nil"],
  ["keeps the named waiter in the list", popNext, "try('ZRANGE', list, 0, 0)[1], nil"],
  ["omits the named waiter from the reply", "return next and { 'next', next } or 1", "return 1"],
  ["publishes nothing", publishNext, ""],
  ["omits the next waiter from the message", publishNext, "try('PUBLISH', channel, '')"],
  ["names waiters of shared requests singly", "if others and others[1] then", "if false then"],
  [
    "announces the other waiters of shared requests in a message of nobody",
    "channel, string.sub(other, 2)",
    "channel, ''",
  ],
  ["makes abandoned claims", "if letter == 'a' then", "if letter == 'a' or letter == 'x' then"],
  ["ends a call with the first operation that fails", "answer = { 'error', failure.err }", "return failure"],
];

/** Further faults of the lock script, with its file. */
const lockFaults: readonly [fault: string, file: string, from: string, to: string][] = [
  ["makes abandoned claims", "lock.lua", isLive, "if true then"],
  ["ends a call with the first operation that fails", "lock.lua", failed, "return { err = message }"],
  [
    "drops the epoch of a counter",
    "fence-counters.lua",
    "if counter.epoch ~= '' then value = value .. ' ' .. counter.epoch end",
    "",
  ],
  ["drops the mark of a counter", "fence-counters.lua", "if mark or ARGV[3] == '0' and counter.mark ~= ''", "if mark"],
  ["limits hints that are close to the counter", "fence-counters.lua", "hint <= highest + 3600000000", "false"],
  ["names no holder", "acquire.lua", "isOwner(by) and by or ''", "''"],
];

const singleFaults = [
  ...commonFaults.map(([fault, ...edit]) => aNodeThat(`${fault} in the common script`).edit("common.lua", ...edit)),
  ...lockFaults.map(([fault, ...edit]) => aNodeThat(`${fault} in the lock script`).edit(...edit)),
];

/** Returns the faults that remain if only one of the two scripts has those of a mutant. */
function halvesOf({ fault, edits }: ScriptMutant): ScriptMutant[] {
  const common = edits.filter(({ file }) => file === "common.lua");
  const general = edits.filter(({ file }) => file !== "common.lua");
  if (common.length === 0 || general.length === 0) return [];
  return [
    Object.assign(aNodeThat(`${fault}, by the common script alone`), { edits: common }),
    Object.assign(aNodeThat(`${fault}, by the lock script alone`), { edits: general }),
  ];
}

export const scriptMutants: readonly ScriptMutant[] = [
  ...mutants,
  ...singleFaults,
  ...[twoSteps, ...mutants].flatMap(halvesOf),
];
