-- Raises or reads what a node keeps for all its resources together, and reads the fence counters and claims of the
-- resources. For operators' tools: locks do not use this script.
--
-- KEYS: the key of the floor and the epoch, see lua/floor.lua.
-- ARGV: the name of the action and a call id, which the reply repeats as a number, then
--   raise   the minimum of the floor, and of the epoch
--   scan    the cursor, 0 at first; the run id of the server at the first portion, empty at first; the prefix of the
--           lock keys; a pattern that the fence keys match, and perhaps others
-- Reply: a list
--   raise   call id, floor, epoch
--   scan    call id, the next cursor, 0 at the end; run id; the number of counters; the highest of them; and for each
--           claim the resource, the owner, and the remaining ms, -1 if it has no end
-- Numbers other than the call id, the number of counters and times are text.

local call, try = redis.call, redis.pcall
local fenceMax = 2 ^ 53 - 1

-- How many keys a portion may look at, and about how many counters it may read.
local looksMax, countersMax, looksAtOnce = 1000, 100, 100

-- Returns the run id. Fails on a replica, which may lag behind, and if the user may not ask.
local function identify()
  local server, replication = try('INFO', 'server'), try('INFO', 'replication')
  local runId = string.match(server.err or server, 'run_id:(%x+)')
  local role = string.match(replication.err or replication, 'role:(%a+)')
  if not runId or not role then error({ err = 'ERR the server does not report its role: this needs +info' }) end
  if role ~= 'master' then error({ err = 'READONLY the server is a replica' }) end
  return runId
end

local function raise(callId, floor, epoch)
  identify()
  local key = KEYS[1]
  local value = try('GET', key)
  local ofNode, epochOfNode = 0, 0
  if value then
    ofNode, epochOfNode = string.match(value.err or value, '^(%d+) (%d+)$')
    if not ofNode or math.max(ofNode, epochOfNode) > fenceMax then
      error({ err = 'ERR the floor ' .. key .. ' is unusable: ' .. (value.err or 'not two safe integers') })
    end
  end
  floor = string.format('%.0f', math.max(floor, ofNode))
  epoch = string.format('%.0f', math.max(epoch, epochOfNode))
  local raised = floor .. ' ' .. epoch
  if raised ~= (value or '0 0') then call('SET', key, raised) end
  return { callId, floor, epoch }
end

-- Returns the value of a fence counter as a number; 0 if it has expired.
local function counterOf(fenceKey)
  local value = try('GET', fenceKey)
  if not value then return 0 end
  local number = string.find(value.err or value, '^%d+$') and tonumber(value)
  if not number or number > fenceMax then
    error({ err = 'ERR the fence counter ' .. fenceKey .. ' is unusable: ' .. (value.err or 'not a safe integer') })
  end
  return number
end

-- Adds the claims on a resource to the reply. A key that is no string is no claim.
local function addClaims(reply, resource, lockKey)
  local function add(owner, ms)
    for _, field in ipairs({ resource, owner, ms }) do reply[#reply + 1] = field end
  end
  local value = try('GET', lockKey)
  if not value or value.err then return end
  -- The mark of shared claims, see lua/sharers.lua.
  local tail = string.match(value, '^holdfast:shared\255%d+:(.*)$')
  if not tail then return add(value, call('PTTL', lockKey)) end
  local now = call('TIME')
  local nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
  local sharers = try('ZRANGEBYSCORE', 'holdfast:sharers:' .. tail, string.format('%.0f', nowMs), '+inf', 'WITHSCORES')
  for i = 1, #sharers, 2 do add(sharers[i], sharers[i + 1] - nowMs) end
  if not sharers[1] then add('unknown sharers', call('PTTL', lockKey)) end
end

local function scan(callId, cursor, runIdBefore, prefix, pattern)
  local runId = identify()
  -- Each run has its own order of keys.
  if runIdBefore ~= '' and runIdBefore ~= runId then
    error({ err = 'ERR the server has restarted, so the scan must begin again' })
  end
  local reply, counters, highest, looks = { callId, cursor, runId, 0, 0 }, 0, 0, 0
  repeat
    local found = try('SCAN', cursor, 'MATCH', pattern, 'COUNT', looksAtOnce)
    if found.err then error({ err = found.err .. ' (scan)' }) end
    cursor, looks = found[1], looks + looksAtOnce
    for _, fenceKey in ipairs(found[2]) do
      -- Either the lock key is in braces, or it follows its hash tag, which is in braces.
      local tag, rest = string.match(fenceKey, '^holdfast:fence:{([^}]*)}(.*)$')
      local lockKey = rest == '' and tag or rest
      if lockKey and #lockKey > #prefix and string.sub(lockKey, 1, #prefix) == prefix then
        local counter = counterOf(fenceKey)
        if counter > 0 then counters, highest = counters + 1, math.max(highest, counter) end
        addClaims(reply, string.sub(lockKey, #prefix + 1), lockKey)
      end
    end
  until cursor == '0' or counters >= countersMax or looks >= looksMax
  reply[2], reply[4], reply[5] = cursor, counters, string.format('%.0f', highest)
  return reply
end

local actions = { raise = raise, scan = scan }
local ok, reply = pcall(actions[ARGV[1]], tonumber(ARGV[2]), unpack(ARGV, 3))
-- Not thrown: Redis 6 replaces an error that is a table, and later versions add the place in the script.
return ok and reply or { err = reply.err or reply }
