-- The common script: acquires and releases of one free resource, or of one that a known owner holds, in as few commands
-- as possible. One lock at a time, the size of a script matters more to the server than its commands.
--
-- It leaves everything else untouched, and answers -1: the lock script does it instead, by the same rules. A test
-- compares the effects of the two.
--
-- KEYS, for each operation: the lock key, and the fence counter (acquire) or the waiting list (release).
-- ARGV: the call id, which the reply repeats; the marks, a character for each operation, "x" if it was given up and
-- must have no effect; and a record for each operation: its name, and
--   acquire    owner, fence hint, ttlMs, epoch
--   release    owner
--   identify   none
-- Reply: the call id as a number, and an answer for each operation, as in the lock script; identify has
--   {run id, role}; both empty if the user may not ask
local call, try = redis.call, redis.pcall

local function isOwner(value)
  return #value < 512 and string.find(value, string.rep('%x', 32) .. '%.?%d*$')
end

-- As the lock script: a counter is a number, perhaps with a zero as a mark before it, which stays, and with a space and
-- the epoch of the node after it.
local function acquire(first, _, owner, fenceHint, ttlMs, epoch)
  local lock, counter = KEYS[first], KEYS[first + 1]
  local value, mark, highest, suffix = try('GET', counter), '', 0, ''
  if value then
    local nodeEpoch
    mark, highest, nodeEpoch = string.match(value.err or value, '^(0?)(%d+) ?(%d*)$')
    if not highest then return -1 end
    highest = tonumber(highest)
    if nodeEpoch ~= '' then
      if math.abs(epoch - nodeEpoch) > 1 then return { 'epoch', nodeEpoch } end
      suffix = ' ' .. nodeEpoch
    end
  end
  local hint = tonumber(fenceHint)
  local fence = hint
  if fence > highest + 3600000000 then
    local now = call('TIME')
    fence = math.min(fence, now[1] * 1000000 + now[2] + 86400000000)
  end
  fence = math.max(fence, highest + 1)
  if fence >= 2 ^ 53 then return -1 end
  local claimed = try('SET', lock, owner, 'NX', 'PX', ttlMs)
  if not claimed then
    local holder = try('GET', lock)
    if holder.err or holder == owner or not isOwner(holder) then return -1 end
    local ms = call('PTTL', lock)
    return ms < 0 and -1 or { 'denied', ms, 1, holder }
  end
  if claimed.err then
    if string.find(claimed.err, '^READONLY ') then error(claimed) end
    -- The server may not write now: its memory is full, for example. The lock script denies a claim without writing.
    return -1
  end
  local text = fence == hint and fenceHint or string.format('%.0f', fence)
  call('SET', counter, mark .. text .. suffix)
  if fence == hint then return 0 end
  -- Clients lose precision on integers near the largest safe one.
  return fence < 2 ^ 52 and fence or text
end

local function release(first, _, owner)
  local lock, list = KEYS[first], KEYS[first + 1]
  local holder = try('GET', lock)
  if holder ~= owner then
    return holder and (holder.err or string.byte(holder, 16) == 255) and -1 or 0
  end
  call('DEL', lock)
  -- Popping from an empty list costs no more than checking whether it exists.
  local next, others = try('ZPOPMIN', list)[1], nil
  if next and string.byte(next) == 255 then
    -- A waiter that wants to share the resource: all of those are named.
    next, others = string.sub(next, 2), try('ZRANGEBYSCORE', list, '-inf', '(0')
  end
  local channel = 'holdfast:released:' .. lock
  try('PUBLISH', channel, next or '')
  if others and others[1] then
    for _, other in ipairs(others) do try('PUBLISH', channel, string.sub(other, 2)) end
    try('ZREMRANGEBYSCORE', list, '-inf', '(0')
  end
  return next and { 'next', next } or 1
end

local function identify()
  local server, replication = try('INFO', 'server'), try('INFO', 'replication')
  return {
    string.match(server.err or server, 'run_id:(%x+)') or '',
    string.match(replication.err or replication, 'role:(%a+)') or '',
  }
end

local fieldsOf = { acquire = 4, release = 1, identify = 0 }
local marks, reply = ARGV[2], { tonumber(ARGV[1]) }
local at, name = 3, ARGV[3]
while name do
  local action = name == 'acquire' and acquire or name == 'release' and release or identify
  local first, last, from, to = 2 * #reply - 1, nil, at + 1, at + fieldsOf[name]
  -- @include "run"
  at, name = to + 1, ARGV[to + 1]
end
return reply
