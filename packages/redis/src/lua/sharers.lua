-- Shared claims. While a resource is shared, the value of its lock key is a mark, and the key lasts as long as the
-- longest of the claims: other programs see a lock of somebody else. The mark has a byte that no UTF-8 text contains,
-- so it equals no owner. It ends in the millisecond until which further sharers are denied. The sharers are in a sorted
-- set, scored by the millisecond in which their claims end.
--
-- The set may outlive the lock key, as when another program deletes that, and must not count then. It counts only while
-- the lock key has a mark, and the claim of a first sharer deletes the set before it writes the mark. If a marked key
-- has no sharer in force, as when its set was evicted, its sharers are unknown: it blocks everybody until it expires.
--
-- Both keys and all claims expire by the server's time of day, as every key with a ttl does.

-- The functions for shared claims, made when an operation first needs them.
local sharers

-- Reads the value of a lock key: returns an object for its shared claims, or nil unless the resource is shared. Without
-- a value, returns the object for the first shared claim. There is only one function, as every local name that others
-- refer to costs time in each call.
local function sharingOf(value, set)
  if value and string.byte(value, 16) ~= 255 then return nil end
  if sharers then return sharers.read(value, set) end
  -- How long further sharers are denied after the denial of an exclusive waiter.
  local reservationMs = 1000
  local nowMs = math.floor(nowUs() / 1000)
  sharers = {}
  sharers.__index = sharers

  local function markOf(reservedUntilMs) return string.format('holdfast:shared\255%.0f', reservedUntilMs) end

  function sharers.read(mark, ofSet)
    local reservedUntil = not mark and 0 or string.match(mark, '^holdfast:shared\255(%d+)')
    return reservedUntil and setmetatable({ set = ofSet, reservedUntil = tonumber(reservedUntil) }, sharers)
  end

  -- Returns when the claim of a sharer ends; nil if it is not in force. Like the keys of the server, a claim is in
  -- force during the millisecond in which it ends.
  function sharers:endOf(owner)
    local endMs = tonumber(call('ZSCORE', self.set, owner))
    return endMs and endMs >= nowMs and endMs or nil
  end

  -- Returns the owner of the claim in force that lasts longest, and when that ends, ignoring those of two owners; nil
  -- if there is none.
  function sharers:longestOf(ignored, alsoIgnored)
    local top = call('ZREVRANGE', self.set, 0, 2, 'WITHSCORES')
    for i = 1, #top, 2 do
      local endMs = tonumber(top[i + 1])
      if endMs < nowMs then return nil end
      if top[i] ~= ignored and top[i] ~= alsoIgnored then return top[i], endMs end
    end
    return nil
  end

  -- Finds what blocks a request from a shared resource. Returns how long that will last in milliseconds, or nil if
  -- nothing does; whose claim it is, or empty if it is unknown; and whether the request is one of the sharers.
  function sharers:blockerOf(lockKey, owner, takeover, shared)
    local longest = self:longestOf()
    if not longest then return call('PTTL', lockKey), '', false end
    if not shared then
      local other, endMs = self:longestOf(takeover)
      return other and endMs - nowMs, other, false
    end
    local ownEndMs, reservedMs = self:endOf(owner), self.reservedUntil - nowMs
    if ownEndMs then return ownEndMs - nowMs, owner, true end
    -- A longer reservation is from a time before the server's clock was set back.
    local isReserved = reservedMs > 0 and reservedMs <= 2 * reservationMs
    return isReserved and reservedMs or nil, longest, false
  end

  -- Denies further sharers for a while. XX: a lock key without a ttl must not come into being.
  function sharers.reserve(lockKey)
    try('SET', lockKey, markOf(nowMs + reservationMs), 'XX', 'KEEPTTL')
  end

  -- Makes both keys last as long as the longest claim.
  local function alignExpiry(lockKey, setKey, untilMs)
    call('PEXPIREAT', setKey, digits(untilMs))
    call('PEXPIREAT', lockKey, digits(untilMs))
  end

  -- Adds a sharer to a resource that is free, or held by an exclusive claim that it replaces.
  function sharers:begin(lockKey, owner, ttlMs)
    local endMs = nowMs + ttlMs
    call('DEL', self.set)
    call('ZADD', self.set, digits(endMs), owner)
    call('SET', lockKey, markOf(0), 'PX', ttlMs)
    alignExpiry(lockKey, self.set, endMs)
  end

  -- Adds a sharer, and removes the claim of takeover and those that have ended.
  function sharers:join(lockKey, owner, ttlMs, takeover)
    call('ZREMRANGEBYSCORE', self.set, '-inf', '(' .. digits(nowMs))
    call('ZADD', self.set, digits(nowMs + ttlMs), owner)
    if takeover and takeover ~= owner then call('ZREM', self.set, takeover) end
    local _, longestMs = self:longestOf()
    alignExpiry(lockKey, self.set, longestMs)
  end

  -- Keeps the claim of a sharer for longer, unless it lasts longer already.
  function sharers:keep(lockKey, owner, ttlMs)
    if self:endOf(owner) < nowMs + ttlMs then self:join(lockKey, owner, ttlMs) end
  end

  -- Removes a sharer. Returns nil if it has no claim in force; otherwise whether the resource is free then.
  function sharers:leave(lockKey, owner)
    if not self:endOf(owner) then return nil end
    call('ZREM', self.set, owner)
    local other, endMs = self:longestOf()
    if other then alignExpiry(lockKey, self.set, endMs) else call('DEL', lockKey, self.set) end
    return not other
  end

  -- Returns the sharers that last longest: an owner, how long its claim remains, and so on.
  function sharers:list(lockKey, most)
    local claims = call('ZREVRANGE', self.set, 0, most - 1, 'WITHSCORES')
    for i = #claims, 2, -2 do
      local leftMs = tonumber(claims[i]) - nowMs
      if leftMs >= 0 then claims[i] = leftMs else claims[i - 1], claims[i] = nil, nil end
    end
    return claims[1] and claims or { 'unknown sharers', math.max(0, call('PTTL', lockKey)) }
  end

  return sharers.read(value, set)
end
