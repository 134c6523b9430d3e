import { channelPrefix } from "./keys.ts";
import { sha1 } from "./sha1.ts";

/** How long a line is kept after somebody has last entered it, in milliseconds: those who wait ask again before. */
const lineMs = 10_000;

/*
 * One script for all operations, for two reasons. A release that follows an acquire on a connection finds the script in
 * the server's cache whenever the acquire found it, so that it cannot come too late for having to load it first. And
 * the operations share the few functions that must not differ.
 *
 * It runs a list of operations, one after the other; each answers for itself, whatever becomes of the others.
 *
 * KEYS: for each operation its lock keys; then, for acquire, extend and inspect, their fence keys in the same order; then,
 * for acquire with a waiter and for release that wakes watchers, the keys of their lines.
 * ARGV: the steps, a ticket that the reply repeats, and then what the steps take, in their order.
 * Each step is one letter. Some set what the operations after them go by:
 *   t: ttlMs, and keepMs: how long counters outlive now, or 0 for ever
 *   g: guardMs, how long after its start the server does not vote for new locks (none unless set)
 *   o: the owner that the next operation may take over from
 *   n: who goes on waiting after the next operation
 * The others are operations, followed by a + for each resource beyond the first:
 *   a: acquire; takes the owner and fenceHint
 *   e, j: extend, and extend that may rejoin; take the owner and the fence
 *   -: what was an acquire or an extend until it was given up
 *   r, w: release, and release that wakes watchers; take the owner
 *   i: inspect
 *   q: introduce; its keys only say which server of a cluster is meant
 * The reply is the ticket and the answers, all in one list. Each kind of answer has its number of elements, and begins
 * with an integer, or with an error: a text that begins with "!". That of release is how many it has freed, or a text that
 * begins with "=": the waiter that was named. That of acquire is 1 if it is granted, 0 if it is denied, and -1 if the server
 * does not vote yet; a denial of several resources is -2 or less, and names one that is in the way: -2 the first, -3 the
 * second.
 *
 * Whatever can fail comes before the first write, and counters are written before claims: should the rest be lost, a
 * counter that went ahead does no harm, while a claim whose counter did not would. A counter that begins with a zero says
 * that the claim was made again while the server did not vote.
 *
 * Commands are most of what an operation takes the server, and printing a number is as much as a command. Functions and
 * the variables that they share are made anew in each call, which costs more than to run them: so there are few, and what
 * is seldom asked for is made where it is asked for.
 */

/** Puts the waiter into a line, unless it stands there. Lines are only hints: not being able to keep them is no failure. */
function standInLine(line: string, since: string): string {
  return `redis.pcall('ZADD', ${line}, 'NX', string.format('%.0f', ${since}), waiter)
      redis.pcall('PEXPIRE', ${line}, ${lineMs})`;
}

/** Tells those who watch a resource whose turn it is. */
function announce(key: string, next: string): string {
  return `redis.pcall('PUBLISH', '${channelPrefix}' .. ${key}, ${next})`;
}

/** Clients read integers near the largest inexactly. Lua prints numbers with 14 digits unless told otherwise. */
function exact(number: string): string {
  return `${number} < 4503599627370496 and ${number} or string.format('%.0f', ${number})`;
}

/** Reads the counters: the highest of them, 0 if there is none; whether one of them begins with a zero; and all, if any. */
const readCounters = `local top, isMarked, counters = 0, false
  for i = before + count + 1, before + 2 * count do
    local value = get(KEYS[i])
    if value then
      local number = string.match(value, '^%d+$') and tonumber(value)
      if not number or number > 9007199254740991 then
        error({ err = 'ERR the fence counter ' .. KEYS[i] .. ' is not a safe integer' })
      end
      counters = counters or {}
      counters[i] = number
      if number > top then top = number end
      isMarked = isMarked or string.byte(value) == 48
    end
  end`;

const lua = `
local steps, answers, answered = ARGV[1], { tonumber(ARGV[2]) }, 1
local latestHint

local function get(key)
  local value = redis.pcall('GET', key)
  if value and type(value) == 'table' then error({ err = value.err .. ' (the key ' .. key .. ')' }) end
  return value
end

-- Makes a claim (a), or extends one, where it is still there (e) or also where it is free (j).
--
-- Where the server may have forgotten a vote for another lock, a claim that was made again must not count as one that was
-- held all along, until that other lock has ended: it is answered as if it had been made again just now. A claim that
-- the server has remembered counts.
local function claim(step, before, count, owner, fence, ttlMs, keepMs, takeover, recoveringMs)
  local isNew = step == 'a'
  local notYetMs = isNew and recoveringMs and recoveringMs() or 0
  if notYetMs ~= 0 then return -1, notYetMs end

  -- Who holds the resources: how many of them are the owner's, how many another's, and, for a new claim, the longest
  -- time left of what it cannot take over: nil if there is nothing, -1 if some of it has no end; and which of them that is,
  -- unless it is the owner's.
  local mine, others, leftMs, longest = 0, 0
  for i = before + 1, before + count do
    local holder = get(KEYS[i])
    if holder then
      if holder == owner then mine = mine + 1 else others = others + 1 end
      if isNew and holder ~= takeover then
        local ms = redis.call('PTTL', KEYS[i])
        if not leftMs or leftMs ~= -1 and (ms < 0 or ms > leftMs) then
          leftMs, longest = math.max(ms, -1), holder ~= owner and i - before
        end
      end
    end
  end
  local isHeld = mine == count
  if isNew and not isHeld and leftMs then return 0, leftMs, count > 1 and longest end
  if not isNew and not isHeld and (others > 0 or step == 'e') then return 0, 0 end

  ${readCounters}
  if isNew and isHeld then
    if top == 0 then error({ err = 'ERR the fence counter of ' .. KEYS[before + 1] .. ' is lost' }) end
    return 1, top
  end

  local hint, mark = tonumber(fence), ''
  local number = hint
  if isNew then
    -- A hint counts at most as the server's clock plus a day.
    if not latestHint then
      local now = redis.call('TIME')
      latestHint = now[1] * 1000000 + now[2] + 24 * 60 * 60 * 1000000
    end
    number = math.min(number, latestHint)
  elseif recoveringMs and (isMarked or not isHeld) and recoveringMs() ~= 0 then
    mark = '0'
  end
  if not isHeld then number = math.max(number, top + 1) end
  if number > 9007199254740991 then
    error({ err = 'ERR the fence counter of ' .. KEYS[before + 1] .. ' is used up' })
  end

  -- Raises the counters. Never ends the life of one earlier than someone else wanted.
  for i = before + count + 1, before + 2 * count do
    local raised, lifeMs = number, keepMs
    if counters and counters[i] then
      raised = math.max(number, counters[i])
      local ms = redis.call('PTTL', KEYS[i])
      if ms == -1 then lifeMs = '0' elseif ms > tonumber(keepMs) then lifeMs = ms end
    end
    -- Most often it is what the client has printed already.
    local value = raised == hint and fence or string.format('%.0f', raised)
    if mark ~= '' then value = mark .. value end
    if keepMs == '0' or lifeMs == '0' then
      redis.call('SET', KEYS[i], value)
    else
      redis.call('SET', KEYS[i], value, 'PX', lifeMs)
    end
  end
  for i = before + 1, before + count do
    if not isHeld then
      redis.call('SET', KEYS[i], owner, 'PX', ttlMs)
    elseif redis.call('PTTL', KEYS[i]) < tonumber(ttlMs) then
      -- Never ends a claim earlier than another extension asked for: the two may come in any order. Gives an end to a claim
      -- without one, which none of us made.
      redis.call('PEXPIRE', KEYS[i], ttlMs)
    end
  end
  if not isNew and (mark ~= '' or not isHeld) then return 0, 1 end
  return 1, math.max(number, top)
end

-- The first of a line leaves it, and is named; the waiter then stands behind all others.
local function release(before, count, owner, wakes, waiter)
  local freed, named = 0
  for i = before + 1, before + count do
    local key = KEYS[i]
    if redis.pcall('GET', key) == owner then
      redis.call('DEL', key)
      freed = freed + 1
      if wakes then
        local line = KEYS[i + count]
        local first = redis.pcall('ZPOPMIN', line)
        local next = first[1]
        if next and waiter then
          local last = redis.pcall('ZREVRANGE', line, 0, 0, 'WITHSCORES')
          ${standInLine("line", "math.max(first[2], last[2] or 0) + 1")}
        end
        named = next or named
        ${announce("key", "next or ''")}
      end
    end
  end
  return named and '=' .. named or freed
end

local argument, position, before = 2, 0, 0
local ttlMs, keepMs, takeover, waiter, recoveringMs
while position < #steps do
  position = position + 1
  local step = string.sub(steps, position, position)
  local word, nextWord = ARGV[argument + 1], ARGV[argument + 2]
  if step == 't' then
    ttlMs, keepMs = word, nextWord
    argument = argument + 2
  elseif step == 'o' then
    takeover = word
    argument = argument + 1
  elseif step == 'n' then
    waiter = word
    argument = argument + 1
  elseif step == 'g' then
    -- How long this server must not vote yet, as it may have forgotten claims that were made until it started. Its start and
    -- its time of day are whole seconds to it, so that it may run for almost a second less than it says. Asked in the script,
    -- so that it is this server, now, that the answer is about, whatever connections and proxies are in between. -1 where
    -- the server does not tell, as it does not where the user may not ask.
    local guardMs, waitMs = tonumber(word)
    recoveringMs = function()
      if not waitMs then
        local info = redis.pcall('INFO', 'server')
        local seconds = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(-?%d+)')
        waitMs = seconds and math.max(0, guardMs - (seconds - 1) * 1000) or -1
      end
      return waitMs
    end
    argument = argument + 1
  else
    local count = 1
    while string.byte(steps, position + 1) == 43 do
      count = count + 1
      position = position + 1
    end
    -- How many elements the answer has, and what became of the operation.
    local size, ok, first, second, third, fourth, fifth = 2
    local keysOfEach = waiter and 3 or 2
    if step == 'r' or step == 'w' then
      size, keysOfEach = 1, step == 'w' and 2 or 1
      ok, first = pcall(release, before, count, word, step == 'w', waiter)
      argument = argument + 1
    elseif step == 'q' then
      size, keysOfEach = 3, 1
      local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
      ok, first, second, third = true, 0, '', ''
      -- Not being allowed to ask is no reason to fail.
      if type(server) == 'string' and type(replication) == 'string' then
        first = 1
        second, third = string.match(server, 'run_id:(%x+)') or '', string.match(replication, 'role:(%a+)') or ''
      end
    elseif step == 'i' then
      size = 5
      ok, first, second, third, fourth, fifth = pcall(function()
        ${readCounters}
        local key = KEYS[before + 1]
        return 1, get(key), redis.call('PTTL', key), ${exact("top")}, recoveringMs and recoveringMs() or 0
      end)
    else
      if step == '-' then
        ok, first = false, 'ERR this was given up before it was sent'
      else
        ok, first, second, third = pcall(claim, step, before, count, word, nextWord, ttlMs, keepMs, takeover, recoveringMs)
        if ok then second = ${exact("second")} end
        if waiter then
          -- Who was granted leaves the lines. Who was denied stands, with the counters, in those of what is in the way; it
          -- could not use its turn in the others, and leaves it to the next. What is denied alone is in the way.
          for i = before + 2 * count + 1, before + 3 * count do
            local key, isInTheWay = KEYS[i - 2 * count], first == 0
            if isInTheWay and count > 1 then
              local holder = redis.pcall('GET', key)
              isInTheWay = holder and holder ~= takeover
            end
            if isInTheWay then
              local since = tonumber(redis.pcall('GET', KEYS[i - count])) or 0
              ${standInLine("KEYS[i]", "since")}
            elseif first == 0 or first == 1 then
              redis.pcall('ZREM', KEYS[i], waiter)
              local next = first == 0 and redis.pcall('ZPOPMIN', KEYS[i])[1]
              if next then ${announce("key", "next")} end
            end
          end
        end
        if ok and third then first = -1 - third end
      end
      argument = argument + 2
      takeover = nil
    end
    if not ok then
      local message = type(first) == 'table' and first.err or tostring(first)
      -- A replica has written nothing in this call, and will not. Clients act on errors of a whole call: they reconnect.
      if string.find(message, '^READONLY ') then return redis.error_reply(message) end
      first = '!' .. message
      second, third, fourth, fifth = false, false, false, false
    end
    answers[answered + 1] = first
    if size > 1 then answers[answered + 2] = second end
    if size > 2 then answers[answered + 3] = third end
    if size > 3 then answers[answered + 4], answers[answered + 5] = fourth, fifth end
    answered = answered + size
    before = before + keysOfEach * count
    waiter = nil
  end
end
return answers
`;

/** What `EVAL` takes. */
export const scriptSource: string = lua.trim();

/** What `EVALSHA` takes. */
export const scriptSha: string = sha1(scriptSource);
