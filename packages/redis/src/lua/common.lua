-- The common script: acquires and releases of one free resource, or of one that a known owner holds, in as few commands
-- as possible. One lock at a time, the size of a script matters more to the server than its commands.
--
-- It leaves everything else untouched, and answers -1: the lock script does it instead, by the same rules. A test
-- compares the effects of the two.
--
-- KEYS, for each operation: the lock key, and the fence counter (acquire) or the waiting list (release).
-- ARGV: the call id, which the reply repeats; the letters of the operations; and the fields of each operation:
--   a   acquire: owner, fence hint, ttlMs, epoch
--   x   an acquire that was given up and must have no effect: the same
--   r   release: owner
--   i   identify: none
-- Reply: the call id as a number, and an answer for each operation, as in the lock script; identify has
--   {run id, role}; both empty if the user may not ask
local try = redis.pcall

-- As the lock script: a counter is a number, perhaps with a zero as a mark before it, which stays, and with a space and
-- the epoch of the node after it. The functions return an answer, or nil and the error of a command that has failed.
local function acquire(first, at)
  local lock, counter, owner, fenceHint = KEYS[first], KEYS[first + 1], ARGV[at], ARGV[at + 1]
  local value, mark, highest, suffix, nodeEpoch = try('GET', counter), '', 0, ''
  if value then
    mark, highest, nodeEpoch = string.match(value.err or value, '^(0?)(%d+) ?(%d*)$')
    if not highest then return -1 end
    highest = tonumber(highest)
    if nodeEpoch ~= '' then
      if math.abs(ARGV[at + 3] - nodeEpoch) > 1 then return { 'epoch', nodeEpoch } end
      suffix = ' ' .. nodeEpoch
    end
  end
  local hint = tonumber(fenceHint)
  local fence = hint
  if fence > highest + 3600000000 then
    local now = try('TIME')
    if now.err then return nil, now end
    fence = math.min(fence, now[1] * 1000000 + now[2] + 86400000000)
  end
  if fence <= highest then fence = highest + 1 end
  if fence >= 2 ^ 53 then return -1 end
  local claimed = try('SET', lock, owner, 'NX', 'PX', ARGV[at + 2])
  if not claimed then
    local holder = try('GET', lock)
    if not holder or holder.err or holder == owner then return -1 end
    -- The value of another program may be long, or secret.
    if #holder >= 512 or not string.find(holder, string.rep('%x', 32) .. '%.?%d*$') then return -1 end
    local ms = try('PTTL', lock)
    if type(ms) == 'table' then return nil, ms end
    return ms < 0 and -1 or { 'denied', ms, 1, holder }
  end
  -- The server may not write now: its memory is full, for example. The lock script denies a claim without writing.
  if claimed.err then return not string.find(claimed.err, '^READONLY ') and -1 or nil, claimed end
  local text = fence == hint and fenceHint or string.format('%.0f', fence)
  local raised = try('SET', counter, mark .. text .. suffix)
  if raised.err then return nil, raised end
  if fence == hint then return 0 end
  -- Clients lose precision on integers near the largest safe one.
  return fence < 2 ^ 52 and fence or text
end

local function release(first, at)
  local lock, list = KEYS[first], KEYS[first + 1]
  local holder = try('GET', lock)
  if holder ~= ARGV[at] then
    return holder and (holder.err or string.byte(holder, 16) == 255) and -1 or 0
  end
  local deleted = try('DEL', lock)
  if deleted ~= 1 and deleted ~= 0 then return nil, deleted end
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

local letters, reply, at = ARGV[2], { tonumber(ARGV[1]) }, 3
for number = 1, #letters do
  local letter, first, answer, failure = string.sub(letters, number, number), 2 * number - 1, nil, nil
  if letter == 'a' then
    answer, failure = acquire(first, at)
    at = at + 4
  elseif letter == 'r' then
    answer, failure = release(first, at)
    at = at + 1
  elseif letter == 'x' then
    failure, at = { err = 'ERR this was given up before it was sent' }, at + 4
  else
    local server, replication = try('INFO', 'server'), try('INFO', 'replication')
    local runId = string.match(server.err or server, 'run_id:(%x+)')
    answer = { runId or '', string.match(replication.err or replication, 'role:(%a+)') or '' }
  end
  if not answer then
    -- A replica has written nothing in this call, and will not. Clients act on errors of a whole call: they reconnect.
    if string.find(failure.err, '^READONLY ') then return failure end
    answer = { 'error', failure.err }
  end
  reply[number + 1] = answer
end
return reply
