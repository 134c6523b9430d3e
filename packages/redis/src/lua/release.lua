-- Ends the claims of the owner. If the release is announced, the waiters whose turn it is leave the list of each
-- resource that is free then, and are named; a `waiter` that keeps waiting then enters the list last.
local function release(first, last, owner, announced, waiter)
  local ended, named = 0, nil
  for i = first, last, 4 do
    local key, list = KEYS[i], KEYS[i + 2]
    local holder = try('GET', key)
    local sharing = type(holder) == 'string' and holder ~= owner and sharingOf(holder, KEYS[i + 3])
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
    if isFree and announced == '1' then
      local next, since = nameNext(key, list, sharing)
      if next and waiter ~= '' then
        local latest = try('ZREVRANGE', list, 0, 0, 'WITHSCORES')
        enterList(list, math.max(since, latest[2] or 0) + 1, waiter)
      end
      if not next then announce(key, '') end
      named = named or next
    end
  end
  return named and { 'next', named } or ended
end
