import { createHash } from "node:crypto";
import { channelPrefix } from "./keys.ts";

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
 * begins with "=": the waiter that was named.
 *
 * Whatever can fail comes before the first write, and counters are written before claims: should the rest be lost, a
 * counter that went ahead does no harm, while a claim whose counter did not would. A counter that begins with a zero says
 * that the claim was made again while the server did not vote.
 *
 * Commands are most of what an operation takes the server, and printing a number is as much as a command.
 */
const lua = `
local steps, answers, answered = ARGV[1], { tonumber(ARGV[2]) }, 1
local argument = 2

-- What the operation at hand is about. Its keys begin after KEYS[before], with as many lock keys as it has resources.
local before, count, owner, fence, ttlMs, keepMs, takeover, waiter = 0
local guardMs = 0

local function take()
  argument = argument + 1
  return ARGV[argument]
end

-- Puts the waiter into a line unless it stands there. Lines are only hints, like what is published: not being able to
-- keep them must not make anything fail.
local function standInLine(line, since)
  redis.pcall('ZADD', line, 'NX', string.format('%.0f', since), waiter)
  redis.pcall('PEXPIRE', line, ${lineMs})
end

local function leaveLine(line)
  redis.pcall('ZREM', line, waiter)
end

-- The first in a line, who leaves it; the waiter then stands behind all others.
local function nextOf(line)
  local first = redis.pcall('ZPOPMIN', line)
  if first[1] and waiter then
    local last = redis.pcall('ZREVRANGE', line, 0, 0, 'WITHSCORES')
    standInLine(line, math.max(first[2], last[2] or 0) + 1)
  end
  return first[1]
end

local function release(wakes)
  local freed, named = 0
  for i = before + 1, before + count do
    local key = KEYS[i]
    if redis.pcall('GET', key) == owner then
      redis.call('DEL', key)
      freed = freed + 1
      if wakes then
        local next = nextOf(KEYS[i + count])
        named = next or named
        redis.pcall('PUBLISH', '${channelPrefix}' .. key, next or '')
      end
    end
  end
  return named and '=' .. named or freed
end

-- Functions are made anew in every call. A release needs none of these.
local function otherOperations()
  local largest = 9007199254740991
  local holders, counters, latestHint, waitMs = {}, {}

  -- Lua prints numbers with 14 digits unless told otherwise.
  local function integer(number)
    if number == tonumber(fence) then return fence end
    return string.format('%.0f', number)
  end

  -- Clients read integers near the largest inexactly.
  local function exact(number)
    if number < 4503599627370496 then return number end
    return integer(number)
  end

  local function get(key)
    local value = redis.pcall('GET', key)
    if type(value) == 'table' then
      error({ err = value.err .. ' (the key ' .. key .. ')' })
    end
    return value
  end

  -- Reads the counters: the highest of them, 0 if there is none, and whether one of them begins with a zero.
  local function highest()
    local top, isMarked = 0, false
    for i = 1, count do
      local key = KEYS[before + count + i]
      local value = get(key)
      local number = 0
      if value then
        number = string.match(value, '^%d+$') and tonumber(value)
        if not number or number > largest then
          error({ err = 'ERR the fence counter ' .. key .. ' is not a safe integer' })
        end
        isMarked = isMarked or string.byte(value) == 48
      end
      counters[i] = number
      top = math.max(top, number)
    end
    return top, isMarked
  end

  -- Raises the counters that have been read. Never ends the life of one earlier than someone else wanted.
  local function raise(number, mark)
    if number > largest then
      error({ err = 'ERR the fence counter of ' .. KEYS[before + 1] .. ' is used up' })
    end
    for i = 1, count do
      local key = KEYS[before + count + i]
      local value = mark .. integer(math.max(number, counters[i]))
      local leftMs = counters[i] == 0 and 0 or redis.call('PTTL', key)
      if keepMs == '0' or leftMs == -1 then
        redis.call('SET', key, value)
      else
        redis.call('SET', key, value, 'PX', leftMs > tonumber(keepMs) and leftMs or keepMs)
      end
    end
  end

  -- Never ends a claim earlier than another extension asked for: the two may come in any order. Gives an end to a claim
  -- without one, which none of us made.
  local function prolong(key)
    if redis.call('PTTL', key) < tonumber(ttlMs) then redis.call('PEXPIRE', key, ttlMs) end
  end

  local function grant(atLeast, mark)
    local number = math.max(highest() + 1, atLeast)
    raise(number, mark)
    for i = before + 1, before + count do redis.call('SET', KEYS[i], owner, 'PX', ttlMs) end
    return number
  end

  -- Reads who holds each of the resources: how many of them are the owner's, and how many another's.
  local function survey()
    local mine, others = 0, 0
    for i = 1, count do
      local holder = get(KEYS[before + i])
      holders[i] = holder
      if holder == owner then mine = mine + 1 elseif holder then others = others + 1 end
    end
    return mine, others
  end

  -- The longest time left of the claims in the way: nil if there are none, -1 if one of them has no end.
  local function longest()
    local leftMs
    for i = 1, count do
      if holders[i] and holders[i] ~= takeover then
        local ms = redis.call('PTTL', KEYS[before + i])
        if ms < 0 or leftMs == -1 then leftMs = -1 else leftMs = math.max(leftMs or 0, ms) end
      end
    end
    return leftMs
  end

  -- Calls back with the line of each resource, and its counter.
  local function eachLine(change)
    for i = before + count + 1, before + 2 * count do
      change(KEYS[i + count], tonumber(redis.pcall('GET', KEYS[i])) or 0)
    end
  end

  -- A hint counts at most as the server's clock plus a day.
  local function hint()
    if not latestHint then
      local now = redis.call('TIME')
      latestHint = now[1] * 1000000 + now[2] + 24 * 60 * 60 * 1000000
    end
    return math.min(fence, latestHint)
  end

  -- How long this server must not vote yet, as it may have forgotten claims that were made until it started. Its start and
  -- its time of day are whole seconds to it, so that it may run for almost a second less than it says. Asked in the script,
  -- so that it is this server, now, that the answer is about, whatever connections and proxies are in between. -1 where the
  -- server does not tell, as it does not where the user may not ask.
  local function recoveringMs()
    if guardMs == 0 then return 0 end
    if waitMs then return waitMs end
    local info = redis.pcall('INFO', 'server')
    local seconds = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(-?%d+)')
    waitMs = seconds and math.max(0, guardMs - (seconds - 1) * 1000) or -1
    return waitMs
  end

  local function acquire()
    local notYetMs = recoveringMs()
    if notYetMs ~= 0 then return -1, notYetMs end
    if survey() == count then
      local number = highest()
      if number == 0 then error({ err = 'ERR the fence counter of ' .. KEYS[before + 1] .. ' is lost' }) end
      return 1, exact(number)
    end
    local leftMs = longest()
    if leftMs then
      if waiter then eachLine(standInLine) end
      return 0, leftMs
    end
    if waiter then eachLine(leaveLine) end
    return 1, exact(grant(hint(), ''))
  end

  -- Where the server may have forgotten a vote for another lock, a claim that was made again must not count as one that was
  -- held all along, until that other lock has ended: it is answered as if it had been made again just now. A claim that
  -- the server has remembered counts.
  local function extend(rejoins)
    local atLeast = tonumber(fence)
    local mine, others = survey()
    if mine == count then
      local top, isMarked = highest()
      isMarked = isMarked and recoveringMs() ~= 0
      raise(atLeast, isMarked and '0' or '')
      for i = before + 1, before + count do prolong(KEYS[i]) end
      if isMarked then return 0, 1 end
      return 1, exact(math.max(top, atLeast))
    end
    if others > 0 or not rejoins then return 0, 0 end
    grant(atLeast, recoveringMs() ~= 0 and '0' or '')
    return 0, 1
  end

  local function inspect()
    local key = KEYS[before + 1]
    return 1, get(key), redis.call('PTTL', key), exact(highest()), recoveringMs()
  end

  local function introduce()
    local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
    -- Not being allowed to ask is no reason to fail.
    if type(server) == 'table' or type(replication) == 'table' then return 0, '', '' end
    return 1, string.match(server, 'run_id:(%x+)') or '', string.match(replication, 'role:(%a+)') or ''
  end

  return acquire, extend, inspect, introduce
end

-- Adds an answer of so many elements, or what went wrong. Not more than two in nearly all cases.
local function answer(size, ok, first, second, third, fourth, fifth)
  if not ok then
    first = '!' .. (type(first) == 'table' and first.err or tostring(first))
    second, third, fourth, fifth = false, false, false, false
  end
  answers[answered + 1] = first
  if size > 1 then answers[answered + 2] = second end
  if size > 2 then answers[answered + 3] = third end
  if size > 3 then answers[answered + 4], answers[answered + 5] = fourth, fifth end
  answered = answered + size
end

local acquire, extend, inspect, introduce
local position = 1
while position <= #steps do
  local step = string.sub(steps, position, position)
  position = position + 1
  if step == 't' then
    ttlMs, keepMs = take(), take()
  elseif step == 'g' then
    guardMs = tonumber(take())
  elseif step == 'o' then
    takeover = take()
  elseif step == 'n' then
    waiter = take()
  else
    count = 1
    while string.byte(steps, position) == 43 do
      count = count + 1
      position = position + 1
    end
    if step == 'r' or step == 'w' then
      owner = take()
      answer(1, pcall(release, step == 'w'))
      before = before + (step == 'w' and 2 or 1) * count
    else
      if not acquire then acquire, extend, inspect, introduce = otherOperations() end
      if step == 'q' then
        answer(3, pcall(introduce))
        before = before + count
      else
        if step == 'i' then
          answer(5, pcall(inspect))
        else
          owner, fence = take(), take()
          if step == 'a' then answer(2, pcall(acquire))
          elseif step == '-' then answer(2, false, 'ERR this was given up before it was sent')
          else answer(2, pcall(extend, step == 'j'))
          end
        end
        before = before + (waiter and 3 or 2) * count
        takeover = nil
      end
    end
    waiter = nil
  end
end
return answers
`;

/** What `EVAL` takes. */
export const scriptSource: string = lua.trim();

/** What `EVALSHA` takes. */
export const scriptSha: string = createHash("sha1").update(scriptSource).digest("hex");
