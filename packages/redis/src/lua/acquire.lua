-- Returns whether a value has the form of a Holdfast owner: it ends in 32 hexadecimal digits and is short enough.
local function isOwner(value) return #value < 512 and string.find(value, string.rep('%x', 32) .. '$') ~= nil end

-- Claims all resources, or none. takeover is nil if there is none. Everything that can fail comes before the first
-- write, and counters are written before claims: if the rest is lost, a counter that is too high does no harm, but a
-- claim without its counter would.
local function acquire(before, count, owner, fenceHint, ttlMs, keepMs, takeover)
  local notYetMs = recoveringMs()
  if notYetMs ~= 0 then return { 'recovering', notYetMs } end

  -- The longest remaining time among the blocking claims, or -1 if one of them has no end; the position of that claim,
  -- or 0 if it is this owner's; and its owner, or empty for the value of another program, which may be long, or secret.
  local mine, retryAfterMs, held, heldBy = 0, nil, 0, nil
  for i = before + 1, before + count do
    local holder = get(KEYS[i])
    if holder and holder == owner then mine = mine + 1 end
    if holder and holder ~= takeover then
      local ms = redis.call('PTTL', KEYS[i])
      if not retryAfterMs or retryAfterMs ~= -1 and (ms < 0 or ms > retryAfterMs) then
        retryAfterMs, heldBy = math.max(ms, -1), isOwner(holder) and holder or ''
        held = holder ~= owner and i - before or 0
      end
    end
  end
  local isResent = mine == count
  if retryAfterMs and not isResent then return { 'denied', retryAfterMs, held, heldBy } end

  local highest, counters = readCounters(before, count)
  if isResent then
    if highest == 0 then error({ err = 'ERR the fence counter of ' .. KEYS[before + 1] .. ' is lost' }) end
    return exact(highest)
  end
  local fence = math.max(math.min(tonumber(fenceHint), latestHint()), highest + 1)
  assertFence(fence, before)
  raiseCounters(before, count, counters, fence, fenceHint, keepMs)
  for i = before + 1, before + count do redis.call('SET', KEYS[i], owner, 'PX', ttlMs) end
  return fence == tonumber(fenceHint) and 0 or exact(fence)
end
