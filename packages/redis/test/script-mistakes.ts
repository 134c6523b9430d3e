/** A mistake in the lock script. */
export interface ScriptMistake {
  /** What a node with the mistake does, after "a node that …". */
  readonly mistake: string;
  /** The test of the conformance suite that catches it. */
  readonly caughtBy: string;
  /** A part of the script, and what stands there instead. */
  readonly edit: readonly [from: string, to: string];
}

const claim = "redis.call('SET', KEYS[i], owner, 'PX', ttlMs)";
const held = "local isHeld = mine == count";
const raising = `before + 2 * count do
    local raised, lifeMs = number, keepMs`;
const advanced = "if not isHeld then number = math.max(number, top + 1) end";
const resent = "if isNew and isHeld then";
const denied = "return 0, leftMs, count > 1 and longest";
const advance = "redis.call('INCR', KEYS[before + count + 1])";

/** Mistakes of a kind that only a server can make. */
export const scriptMistakes: readonly ScriptMistake[] = [
  {
    mistake: "releases whatever the resource is held by",
    caughtBy: "release() leaves another owner's claim and counter alone",
    edit: ["if redis.pcall('GET', key) == owner then", "if redis.pcall('GET', key) then"],
  },
  {
    mistake: "forgets the counter with a release",
    caughtBy: "release() keeps the counter",
    edit: ["redis.call('DEL', key)", "redis.call('DEL', key, 'holdfast:fence:{' .. key .. '}')"],
  },
  {
    mistake: "keeps the counter no longer than the claim",
    caughtBy: "the fence of a grant is one more than the counter, after an expiry",
    edit: [raising, raising.replace("keepMs", "ttlMs")],
  },
  {
    mistake: "does not write the counter of a grant",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    edit: [raising, `(isHeld and ${raising.replace(" do", " or 0) do")}`],
  },
  {
    mistake: "does not advance the counter in a grant",
    caughtBy: "the fence of a grant is one more than the counter, after a release by either client",
    edit: [advanced, advanced.replace("top + 1", "top")],
  },
  {
    mistake: "counts each of several resources by itself",
    caughtBy: "the fence over several resources is one more than their highest counter, for each",
    edit: ["math.max(number, counters[i])", "math.max(counters[i] + 1, tonumber(fence))"],
  },
  {
    mistake: "takes no notice of the hint",
    caughtBy: "the fence is exactly the hint where that is ahead of the counter",
    edit: ["math.min(number, latestHint)", "1"],
  },
  {
    mistake: "takes any hint, however far ahead of its clock",
    caughtBy: "a hint counts at most as the node's clock plus a day",
    edit: ["math.min(number, latestHint)", "number"],
  },
  {
    mistake: "keeps fourteen digits of a counter, as Lua prints numbers",
    caughtBy: "the fence is exactly the hint where that is the time in microseconds",
    edit: ["string.format('%.0f', raised)", "tostring(raised)"],
  },
  {
    mistake: "accepts a raise although the counter is already higher",
    caughtBy: "extend() of a held claim to a fence below the counter answers the counter, and leaves it",
    edit: ["math.max(number, counters[i])", "number"],
  },
  {
    mistake: "does not raise the counter in an extension",
    caughtBy: "extend() of a held claim raises the counter to the fence",
    edit: [raising, `(not isHeld and ${raising.replace(" do", " or 0) do")}`],
  },
  {
    mistake: "claims again in an extension without advancing the counter",
    caughtBy: "extend() with rejoin advances the counter past the old one, as a grant does",
    edit: [advanced, advanced.replace("if", "if isNew and")],
  },
  {
    mistake: "claims again in an extension that was not to rejoin",
    caughtBy: "extend() without rejoin of a claim never made changes nothing",
    edit: ["(others > 0 or step == 'e')", "others > 0"],
  },
  {
    mistake: "rejoins what another owner holds",
    caughtBy: "extend() of another owner's claim answers not held, and leaves claim and counter alone",
    edit: ["(others > 0 or step == 'e')", "step == 'e'"],
  },
  {
    mistake: "extends whatever claim the resource has",
    caughtBy: "extend() of another owner's claim answers not held, and leaves claim and counter alone",
    edit: [held, `${held} or not isNew and mine + others == count`],
  },
  {
    mistake: "takes a claim on some of several resources for a claim on all",
    caughtBy: "extend() without rejoin takes a claim on some of the resources for none, and changes nothing",
    edit: [held, `${held} or not isNew and mine > 0`],
  },
  {
    mistake: "claims a held claim anew where it may rejoin",
    caughtBy: "extend() with rejoin of a held claim does not advance the counter by itself, however often",
    edit: [held, `${held} and step ~= 'j'`],
  },
  {
    mistake: "sets no ttl in an extension",
    caughtBy: "extend() of a held claim makes it last longer",
    edit: ["redis.call('PEXPIRE', KEYS[i], ttlMs)", "redis.call('PTTL', KEYS[i])"],
  },
  {
    mistake: "cuts a claim short when it is extended for less",
    caughtBy: "extend() of a held claim for less than it will be kept leaves it as it is",
    edit: ["elseif redis.call('PTTL', KEYS[i]) < tonumber(ttlMs) then", "else"],
  },
  {
    mistake: "claims what is free of several resources before it denies",
    caughtBy: "acquire() denies while another owner holds any one of the resources, and changes nothing",
    edit: [denied, `for i = before + 1, before + count do if not get(KEYS[i]) then ${claim} end end\n${denied}`],
  },
  {
    mistake: "advances the counter for a claim that it denies",
    caughtBy: "acquire() that is denied leaves the holder, its ttl and the counter alone",
    edit: [denied, `${advance}\n${denied}`],
  },
  {
    mistake: "answers with an error where it should deny",
    caughtBy: "acquire() denies while another owner holds the resource, whichever client asks",
    edit: [denied, "error({ err = 'ERR it is locked' })"],
  },
  {
    mistake: "takes over from whoever holds the resource",
    caughtBy: "acquire() with takeover from an owner that does not hold the resource is denied",
    edit: ["holder ~= takeover", "not takeover"],
  },
  {
    mistake: "advances the counter for a command that was resent",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever it hints",
    edit: [resent, `if isNew and isHeld then isHeld = false elseif false then`],
  },
  {
    mistake: "denies a command that was resent",
    caughtBy: "acquire() resent by the holder grants again with the same fence, whatever it hints",
    edit: [held, `${held} and not isNew`],
  },
  {
    mistake: "keeps claims until they are released",
    caughtBy: "a claim is kept for its ttl at least, and then is free",
    edit: [claim, "redis.call('SET', KEYS[i], owner)"],
  },
  {
    mistake: "ends claims after a few milliseconds, whatever their ttl",
    caughtBy: "a claim that is not extended stays for a long ttl",
    edit: [claim, claim.replace("ttlMs", "math.min(ttlMs, 5)")],
  },
  {
    mistake: "takes milliseconds for seconds",
    caughtBy: "a claim is kept for its ttl at least, and then is free",
    edit: [claim, claim.replace("PX", "EX")],
  },
  {
    mistake: "tells in inspect() nothing of the counter of what is free",
    caughtBy: "inspect() of a released resource tells that it is free, and the fence it had",
    edit: ["PTTL', key), top <", "PTTL', key), not get(key) and 0 or top <"],
  },
];
