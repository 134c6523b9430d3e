-- Ends the claims of the owner. If the release is announced, the waiters whose turn it is leave the list of each
-- resource that is free then, and are named; a `waiter` that keeps waiting then enters the list last.
local function release(before, count, owner, isAnnounced, waiter)
  local ended, named = 0, nil
  for i = before + 1, before + count do
    local key = KEYS[i]
    local holder = try('GET', key)
    local sharing = type(holder) == 'string' and holder ~= owner and sharingOf(holder)
    local isFree = holder == owner
    if isFree then
      call('DEL', key)
      ended = ended + 1
    elseif sharing then
      -- A set that cannot be used does not keep the other resources from being freed.
      local ok, isLast = pcall(sharing.leave, sharing, key, owner)
      if ok and isLast ~= nil then ended = ended + 1 end
      isFree = ok and isLast
    end
    if isFree and isAnnounced then
      local list = KEYS[i + count]
      local next, since = nameNext(key, list, sharing)
      if next and waiter ~= '' then
        local last = try('ZREVRANGE', list, 0, 0, 'WITHSCORES')
        enterList(list, math.max(since, last[2] or 0) + 1, waiter)
      end
      if not next then announce(key, '') end
      named = named or next
    end
  end
  return named and { 'next', named } or ended
end
