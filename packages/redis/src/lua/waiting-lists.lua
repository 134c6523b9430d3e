-- The waiting list of a resource: waiters, scored by the fence counter at which they enqueued. Lists are hints: an
-- operation does not fail because its lists cannot be updated.
--
-- Waiters of shared requests come first, by scores below 0, and have a byte before them that is in no UTF-8 text: the
-- same value may wait for both.

-- How long a list outlives its latest waiter, which retries sooner than that.
local listMs = 10000

-- Added to the scores of waiters of shared requests.
local sharedOffset = -2 ^ 53

-- Adds a waiter to a list, unless it is already there.
local function enterList(list, since, waiter, shared)
  if shared then since, waiter = since + sharedOffset, '\255' .. waiter end
  try('ZADD', list, 'NX', digits(since), waiter)
  try('PEXPIRE', list, listMs)
end

-- Notifies the watchers of a resource that it was released, and names the next waiter if there is one.
local function announce(lockKey, next)
  try('PUBLISH', 'holdfast:released:' .. lockKey, next)
end

-- The waiters whose turn it is leave the list, and are named: the first, or all that want to share the resource if the
-- first does. After sharers, it is the turn of the first exclusive one. Returns the first of them and the counter at
-- which it enqueued, or nil.
local function nameNext(lockKey, list, isAfterSharers)
  local first
  if isAfterSharers then
    first = try('ZRANGEBYSCORE', list, 0, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
    if first[1] then try('ZREM', list, first[1]) else first = nil end
  end
  first = first or try('ZPOPMIN', list)
  local next, since = first[1], tonumber(first[2])
  if next and string.byte(next) == 255 then
    next, since = string.sub(next, 2), since - sharedOffset
    announce(lockKey, next)
    local others = try('ZRANGEBYSCORE', list, '-inf', '(0')
    for _, other in ipairs(others) do announce(lockKey, string.sub(other, 2)) end
    if #others > 0 then try('ZREMRANGEBYSCORE', list, '-inf', '(0') end
  elseif next then
    announce(lockKey, next)
  end
  return next, since
end

-- A waiter that is granted the lock leaves its lists. A waiter that is denied enters the lists of the resources that
-- others hold, scored by their counters. It leaves the other lists, where it could not use its turn, and passes the
-- turn to the next waiter. An exclusive waiter keeps further sharers out for a while.
local function updateWaitingLists(first, last, isDenied, takeover, waiter, shared, sharings, counters)
  for i = first, last, 4 do
    local list, sharing, isBlocking = KEYS[i + 2], sharings[i], isDenied
    if isDenied and sharing then
      -- Others than takeover share it, or unknown ones.
      isBlocking = sharing:longestOf(takeover) or not sharing:longestOf()
    elseif isDenied and first < last then
      local holder = try('GET', KEYS[i])
      isBlocking = holder and holder ~= takeover
    end
    if isBlocking then
      local counter = counters[i + 1]
      enterList(list, counter and counter.number or 0, waiter, shared)
      if sharing and not shared then sharing.reserve(KEYS[i]) end
    else
      try('ZREM', list, shared and '\255' .. waiter or waiter)
      if isDenied then nameNext(KEYS[i], list) end
    end
  end
end
