import { createHash } from "node:crypto";

/*
 * One script for all operations, for two reasons. A release that follows an acquire on a connection finds the script in
 * the server's cache whenever the acquire found it, so that it cannot come too late for having to load it first. And
 * the operations share the few functions that must not differ.
 *
 * KEYS: the lock keys; then, except for release, their fence keys in the same order.
 * ARGV: the verb, a ticket that the reply repeats, the owner, and then
 *   acquire: ttlMs, keepMs, fenceHint, guardMs, and takeover if there is one
 *   extend:  ttlMs, keepMs, fence, rejoin (1 or 0), guardMs
 *   release: what the names of channels begin with, or nothing if watchers are not to be told
 *   inspect: guardMs (the owner is empty)
 *   introduce: nothing, not even the owner; the keys only say which server of a cluster is meant
 * keepMs is how long counters outlive now, or 0 for ever. Counters are replied as strings, as clients read integers near
 * the largest inexactly. guardMs is how long after its start the server does not vote for new locks, or 0. A counter that
 * begins with a zero says that the claim was made again in that time.
 *
 * Whatever can fail comes before the first write, and counters are written before claims: should the rest be lost, a
 * counter that went ahead does no harm, while a claim whose counter did not would.
 */
const lua = `
local verb, ticket, owner = ARGV[1], ARGV[2], ARGV[3]

-- Comes first, as it needs none of the functions, which are made anew in every call.
if verb == 'release' then
  local freed = 0
  for i = 1, #KEYS do
    if redis.pcall('GET', KEYS[i]) == owner then
      redis.call('DEL', KEYS[i])
      freed = freed + 1
      -- Only a hint: not being allowed to publish must not make the release fail.
      if ARGV[4] then redis.pcall('PUBLISH', ARGV[4] .. KEYS[i], '') end
    end
  end
  return { ticket, freed }
end

local ttlMs, keepMs = ARGV[4], tonumber(ARGV[5])
local count = #KEYS / 2
local largest = 9007199254740991
local dayUs = 24 * 60 * 60 * 1000000

-- Lua prints numbers with 14 digits unless told otherwise.
local function integer(number)
  return string.format('%.0f', number)
end

local function get(key)
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then
    error({ err = value.err .. ' (the key ' .. key .. ')' })
  end
  return value
end

local function counter(key)
  local value = get(key)
  if not value then return 0 end
  local number = string.match(value, '^%d+$') and tonumber(value)
  if not number or number > largest then
    error({ err = 'ERR the fence counter ' .. key .. ' is not a safe integer' })
  end
  return number
end

local function highest()
  local number = 0
  for i = 1, count do number = math.max(number, counter(KEYS[count + i])) end
  return number
end

-- Never ends the life of a counter earlier than someone else wanted.
local function keep(key, number, mark)
  local leftMs = redis.call('PTTL', key)
  if keepMs == 0 or leftMs == -1 then
    redis.call('SET', key, mark .. integer(number))
  else
    redis.call('SET', key, mark .. integer(number), 'PX', integer(math.max(keepMs, leftMs)))
  end
end

-- Never ends a claim earlier than another extension asked for: the two may come in any order. Gives an end to a claim
-- without one, which none of us made.
local function prolong(key)
  if redis.call('PTTL', key) < tonumber(ttlMs) then redis.call('PEXPIRE', key, ttlMs) end
end

local function bounded(number)
  if number > largest then error({ err = 'ERR the fence counter of ' .. KEYS[1] .. ' is used up' }) end
  return number
end

local function grant(atLeast, mark)
  local fence = bounded(math.max(highest() + 1, atLeast))
  for i = 1, count do keep(KEYS[count + i], fence, mark) end
  for i = 1, count do redis.call('SET', KEYS[i], owner, 'PX', ttlMs) end
  return fence
end

-- Who holds each of the resources, and how many of them are the owner's and how many are another's.
local function survey()
  local holders, mine, others = {}, 0, 0
  for i = 1, count do
    local holder = get(KEYS[i])
    holders[i] = holder
    if holder == owner then mine = mine + 1 elseif holder then others = others + 1 end
  end
  return holders, mine, others
end

-- The longest time left of the claims in the way: nil if there are none, -1 if one of them has no end.
local function longest(holders, takeover)
  local leftMs
  for i = 1, count do
    if holders[i] and holders[i] ~= takeover then
      local ms = redis.call('PTTL', KEYS[i])
      if ms < 0 or leftMs == -1 then leftMs = -1 else leftMs = math.max(leftMs or 0, ms) end
    end
  end
  return leftMs
end

-- How long this server must not vote yet, as it may have forgotten claims that were made until it started. Its start and
-- its time of day are whole seconds to it, so that it may run for almost a second less than it says. Asked in the script,
-- so that it is this server, now, that the answer is about, whatever connections and proxies are in between. -1 where the
-- server does not tell, as it does not where the user may not ask.
local function recoveringMs(guardMs)
  if guardMs == '0' then return 0 end
  local info = redis.pcall('INFO', 'server')
  local seconds = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(-?%d+)')
  if not seconds then return -1 end
  return math.max(0, guardMs - (seconds - 1) * 1000)
end

if verb == 'acquire' then
  local waitMs = recoveringMs(ARGV[7])
  if waitMs ~= 0 then return { ticket, -1, waitMs } end
  local holders, mine = survey()
  if mine == count then
    local fence = highest()
    if fence == 0 then error({ err = 'ERR the fence counter of ' .. KEYS[1] .. ' is lost' }) end
    return { ticket, 1, integer(fence) }
  end
  local leftMs = longest(holders, ARGV[8])
  if leftMs then return { ticket, 0, leftMs } end
  local now = redis.call('TIME')
  local latestHint = now[1] * 1000000 + now[2] + dayUs
  return { ticket, 1, integer(grant(math.min(tonumber(ARGV[6]), latestHint), '')) }
end

-- Where the server may have forgotten a vote for another lock, a claim that was made again must not count as one that was
-- held all along, until that other lock has ended: it is answered as if it had been made again just now. A claim that
-- the server has remembered counts.
if verb == 'extend' then
  local _, mine, others = survey()
  local mark = ''
  local fence = tonumber(ARGV[6])
  if mine == count then
    for i = 1, count do
      if string.sub(get(KEYS[count + i]) or '', 1, 1) == '0' then mark = '0' end
    end
    if mark == '0' and recoveringMs(ARGV[8]) == 0 then mark = '' end
    local fences, top = {}, 0
    for i = 1, count do
      fences[i] = bounded(math.max(counter(KEYS[count + i]), fence))
      top = math.max(top, fences[i])
    end
    for i = 1, count do keep(KEYS[count + i], fences[i], mark) end
    for i = 1, count do prolong(KEYS[i]) end
    if mark == '0' then return { ticket, 0, 1 } end
    return { ticket, 1, integer(top) }
  end
  if others > 0 or ARGV[7] == '0' then return { ticket, 0, 0 } end
  if recoveringMs(ARGV[8]) ~= 0 then mark = '0' end
  grant(fence, mark)
  return { ticket, 0, 1 }
end

if verb == 'introduce' then
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  -- Not being allowed to ask is no reason to fail.
  if type(server) == 'table' or type(replication) == 'table' then return { ticket } end
  return { ticket, string.match(server, 'run_id:(%x+)'), string.match(replication, 'role:(%a+)') }
end

if verb == 'inspect' then
  return { ticket, get(KEYS[1]), redis.call('PTTL', KEYS[1]), integer(counter(KEYS[2])), recoveringMs(ARGV[4]) }
end

return redis.error_reply('ERR this command was given up before it was sent')
`;

/** What `EVAL` takes. */
export const scriptSource: string = lua.trim();

/** What `EVALSHA` takes. */
export const scriptSha: string = createHash("sha1").update(scriptSource).digest("hex");
