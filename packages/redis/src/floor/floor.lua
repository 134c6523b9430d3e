-- Reads or raises the fence counters of a node, or finds its lock keys. For operators' tools: locks do not use this
-- script.
--
-- ARGV: the call id, which the reply repeats as a number; the name of the action, and its fields. KEYS and the reply,
-- a list that begins with the call id and the server's run id:
--   raise   KEYS are fence counters. Fields: the minimum of each, and of its epoch. Reply: how many of them there are
--           then; the lowest and the highest, where one that does not exist is 0; and the lowest epoch
--   find    Fields: the cursor, 0 at first; the run id of the first call, empty at first; the prefix of the lock keys,
--           a pattern of them, and a slot of a cluster or empty; KEYS are then a counter of that slot. Reply: the next
--           cursor, 0 at the end; and the resources whose key may be a claim
-- Counters and epochs are text.

local call, try = redis.call, redis.pcall
local fenceMax = 2 ^ 53 - 1

-- How many keys a call may look at, and about how many resources it may find.
local looksMax, resourcesMax, looksAtOnce = 10000, 500, 1000

-- How many keys a slot of a cluster may have: they can only be read all at once, which takes some 200 ms for so many.
local keysInSlotMax = 100000

-- Returns the run id. Fails on a replica, which may lag behind, and if the user may not ask.
local function identify()
  local server, replication = try('INFO', 'server'), try('INFO', 'replication')
  local runId = string.match(server.err or server, 'run_id:(%x+)')
  local role = string.match(replication.err or replication, 'role:(%a+)')
  if not runId or not role then error({ err = 'ERR the server does not report its role: this needs +info' }) end
  if role ~= 'master' then error({ err = 'READONLY the server is a replica' }) end
  return runId
end

local function digits(number) return string.format('%.0f', number) end

-- Reads a counter. Returns its number and its epoch after it was raised, and its new value; false if that is the same.
local function raised(key, value, floorText, floor, epoch)
  local mark, number, text, nodeEpoch = '', 0, '0', 0
  if value then
    local epochOfValue
    mark, text, epochOfValue = string.match(value.err or value, '^(0?)(%d+) ?(%d*)$')
    number, nodeEpoch = tonumber(text), tonumber(epochOfValue) or 0
    if not number or number > fenceMax then
      error({ err = 'ERR the fence counter ' .. key .. ' is ' .. (value.err or 'not a safe integer') })
    end
  end
  local isLower = number < floor or nodeEpoch < epoch
  if number < floor then number, text = floor, floorText end
  nodeEpoch = math.max(nodeEpoch, epoch)
  return number, nodeEpoch, isLower and mark .. text .. (nodeEpoch > 0 and ' ' .. digits(nodeEpoch) or '')
end

-- Returns the counters, false where there is none. All are read at once, which is ten times faster than one by one.
local function readCounters()
  local values, texts = call('MGET', unpack(KEYS)), 0
  for _, value in ipairs(values) do
    if value then texts = texts + 1 end
  end
  -- MGET reads a key of another type as none.
  if call('EXISTS', unpack(KEYS)) ~= texts then
    for i, key in ipairs(KEYS) do values[i] = try('GET', key) end
  end
  return values
end

local function raise(reply, floorText, epochText)
  local count, lowest, highest, lowestEpoch = 0, fenceMax, 0, fenceMax
  local floor, epoch = tonumber(floorText), tonumber(epochText)
  local values, raisedPairs = readCounters(), {}
  local previous, number, nodeEpoch, raisedValue
  for i, key in ipairs(KEYS) do
    local value = values[i]
    if value ~= previous then -- counters that were raised to a floor, and not used since, are equal
      number, nodeEpoch, raisedValue = raised(key, value, floorText, floor, epoch)
      previous = value
      lowest, highest = math.min(lowest, number), math.max(highest, number)
      lowestEpoch = math.min(lowestEpoch, nodeEpoch)
    end
    if raisedValue then
      raisedPairs[#raisedPairs + 1], raisedPairs[#raisedPairs + 2] = key, raisedValue
    end
    if number > 0 then count = count + 1 end
  end
  if #raisedPairs > 0 then call('MSET', unpack(raisedPairs)) end
  reply[3], reply[4], reply[5], reply[6] = count, digits(lowest), digits(highest), digits(lowestEpoch)
end

-- Returns whether a key may be a claim: a short string. With an empty prefix it must end as an owner does, or be the
-- mark of shared claims.
local function mayBeClaim(key, prefix)
  local length = try('STRLEN', key)
  if type(length) ~= 'number' or length >= 512 then return false end
  if prefix ~= '' then return true end
  local value = try('GET', key)
  return value
    and (string.find(value, '^holdfast:shared\255') or string.find(value, string.rep('%x', 32) .. '%.?%d*$')) ~= nil
end

local function find(reply, cursor, runIdBefore, prefix, pattern, slot)
  -- Each run has its own order of keys.
  if runIdBefore ~= '' and runIdBefore ~= reply[2] then
    error({ err = 'ERR the server has restarted, so the scan must begin again' })
  end
  local looks = 0
  repeat
    local found
    if slot == '' then
      found = try('SCAN', cursor, 'MATCH', pattern, 'COUNT', looksAtOnce)
    else
      local count = try('CLUSTER', 'COUNTKEYSINSLOT', slot)
      if type(count) == 'number' and count > keysInSlotMax then
        error({ err = 'ERR slot ' .. slot .. ' has ' .. count .. ' keys, and a scan reads at most ' .. keysInSlotMax
          .. ' of a slot: keep the data of other programs in other slots than locks' })
      end
      local keys = type(count) == 'table' and count or try('CLUSTER', 'GETKEYSINSLOT', slot, count)
      found = { '0', keys, err = keys.err }
    end
    if found.err then error({ err = found.err .. ' (scan)' }) end
    cursor, looks = found[1], looks + looksAtOnce
    for _, key in ipairs(found[2]) do
      local isNamed = #key > #prefix and string.sub(key, 1, #prefix) == prefix
      if isNamed and mayBeClaim(key, prefix) then reply[#reply + 1] = string.sub(key, #prefix + 1) end
    end
  until cursor == '0' or #reply >= resourcesMax or looks >= looksMax
  reply[3] = cursor
end

local reply = { tonumber(ARGV[1]) }
local ok, failure = pcall(function()
  reply[2], reply[3] = identify(), ''
  return (ARGV[2] == 'raise' and raise or find)(reply, unpack(ARGV, 3))
end)
-- Not thrown: Redis 6 replaces an error that is a table, and later versions add the place in the script.
return ok and reply or { err = failure.err or failure }
