-- Frees the resources that the owner holds. If the release is announced, the first waiter of each list leaves the list,
-- and is named; a `waiter` that keeps waiting then enters the list last.
local function release(before, count, owner, isAnnounced, waiter)
  local freed, named = 0, nil
  for i = before + 1, before + count do
    local key = KEYS[i]
    if redis.pcall('GET', key) == owner then
      redis.call('DEL', key)
      freed = freed + 1
      if isAnnounced then
        local list = KEYS[i + count]
        local first = redis.pcall('ZPOPMIN', list)
        local next = first[1]
        if next and waiter ~= '' then
          local last = redis.pcall('ZREVRANGE', list, 0, 0, 'WITHSCORES')
          enterList(list, math.max(first[2], last[2] or 0) + 1, waiter)
        end
        named = next or named
        announce(key, next or '')
      end
    end
  end
  return named and { 'next', named } or freed
end
