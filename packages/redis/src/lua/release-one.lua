-- The short path of release, for one resource: the first waiter of its list leaves the list, and is named. Popping from
-- an empty list costs no more than checking whether it exists, which would need another permission.
local function releaseOne(lockKey, list, owner)
  if redis.pcall('GET', lockKey) ~= owner then return 0 end
  redis.call('DEL', lockKey)
  local next = redis.pcall('ZPOPMIN', list)[1]
  redis.pcall('PUBLISH', 'holdfast:released:' .. lockKey, next or '')
  return next and { 'next', next } or 1
end
