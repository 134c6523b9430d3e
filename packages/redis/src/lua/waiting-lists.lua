-- The waiting list of a resource: waiters, by the fence counter at which they came. Lists are hints: failing to keep
-- one is no failure of the operation.

-- Waiters ask again sooner than that.
local listMs = 10000

-- Enters a waiting list, unless the waiter is in it.
local function enterList(list, since, waiter)
  redis.pcall('ZADD', list, 'NX', string.format('%.0f', since), waiter)
  redis.pcall('PEXPIRE', list, listMs)
end

-- Tells the watchers of a resource that it was released, and the waiter whose turn it is, if there is one.
local function announce(lockKey, next)
  redis.pcall('PUBLISH', 'holdfast:released:' .. lockKey, next)
end

-- A waiter that was granted leaves the lists. One that was denied enters those of the resources in its way, by their
-- counters; it could not use its turn in the others, and leaves it to the next waiter.
local function updateWaitingLists(before, count, answer, takeover, waiter)
  local isDenied = type(answer) == 'table'
  if isDenied and answer[1] ~= 'denied' then return end
  for i = before + 2 * count + 1, before + 3 * count do
    local lockKey, isInTheWay = KEYS[i - 2 * count], isDenied
    if isDenied and count > 1 then
      local holder = redis.pcall('GET', lockKey)
      isInTheWay = holder and holder ~= takeover
    end
    if isInTheWay then
      enterList(KEYS[i], tonumber(redis.pcall('GET', KEYS[i - count])) or 0, waiter)
    else
      redis.pcall('ZREM', KEYS[i], waiter)
      local next = isDenied and redis.pcall('ZPOPMIN', KEYS[i])[1]
      if next then announce(lockKey, next) end
    end
  end
end
