-- The waiting list of a resource: waiters, scored by the fence counter at which they enqueued. Lists are hints: an
-- operation does not fail because its lists cannot be updated.

-- How long a list outlives its latest waiter, which retries sooner than that.
local listMs = 10000

-- Adds a waiter to a list, unless it is already there.
local function enterList(list, since, waiter)
  redis.pcall('ZADD', list, 'NX', string.format('%.0f', since), waiter)
  redis.pcall('PEXPIRE', list, listMs)
end

-- Notifies the watchers of a resource that it was released, and names the next waiter if there is one.
local function announce(lockKey, next)
  redis.pcall('PUBLISH', 'holdfast:released:' .. lockKey, next)
end

-- A waiter that is granted the lock leaves its lists. A waiter that is denied enters the lists of the blocked
-- resources, scored by their counters. It leaves the other lists, where it could not use its turn, and passes the turn
-- to the next waiter.
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
