-- The short path of release, for one resource: the first waiter of its list leaves the list, and is named. Popping from
-- an empty list costs no more than checking whether it exists, which would need another permission. Returns nil if the
-- general path must go on: if the lock is shared, before anything is written; or if the waiter wants to share it, with
-- that waiter.
local function releaseOne(lockKey, list, owner)
  local holder = try('GET', lockKey)
  if holder ~= owner then
    if holder and string.find(holder.err or holder, '^holdfast:shared\255') then return nil end
    return 0
  end
  call('DEL', lockKey)
  local first = try('ZPOPMIN', list)
  local next = first[1]
  if next and string.byte(next) == 255 then return nil, first end
  try('PUBLISH', 'holdfast:released:' .. lockKey, next or '')
  return next and { 'next', next } or 1
end
