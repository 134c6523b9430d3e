-- Returns whether a value has the form of a Holdfast owner: it ends in 32 hexadecimal digits, perhaps with an epoch,
-- and is short enough.
local function isOwner(value)
  return #value < 512 and string.find(value, string.rep('%x', 32) .. '%.?%d*$')
end

-- Claims all resources, or none. takeover is nil if there is none. Everything that can fail comes before the first
-- write, and counters are written before claims: if the rest is lost, a counter that is too high does no harm, but a
-- claim without its counter would. Also returns what is read of shared resources, by the positions of their keys, or
-- nil.
local function acquire(before, count, takeover, shared, owner, fenceHint, ttlMs, keepMs, epoch)
  local floor, refusal = floorFor(epoch)
  if refusal then return refusal end
  local notYetMs = recoveringMs()
  if notYetMs ~= 0 then return { 'recovering', notYetMs } end

  -- The longest remaining time among the blocking claims, or -1 if one of them has no end; the position of that claim,
  -- or 0 if it is this owner's; and its owner, or empty for the value of another program, which may be long, or secret.
  local mine, retryAfterMs, held, heldBy, sharings, joined = 0, nil, 0, nil, {}, 0
  for i = before + 1, before + count do
    local holder = get(KEYS[i])
    local sharing = holder and sharingOf(holder)
    local isMine, ms, by = holder == owner, nil, holder
    if sharing then
      sharings[i] = sharing
      ms, by, isMine = sharing:blockerOf(KEYS[i], owner, takeover, shared)
      if sharing:longestOf(owner, takeover) then joined = joined + 1 end
    elseif holder and holder ~= takeover then
      ms = call('PTTL', KEYS[i])
    end
    if isMine then mine = mine + 1 end
    if ms and (not retryAfterMs or retryAfterMs ~= -1 and (ms < 0 or ms > retryAfterMs)) then
      retryAfterMs, heldBy = math.max(ms, -1), isOwner(by) and by or ''
      held = by ~= owner and i - before or 0
    end
  end
  local isResent = mine == count
  if retryAfterMs and not isResent then return { 'denied', retryAfterMs, held, heldBy }, sharings end

  local highest, counters, isMarked = readCounters(before, count)
  if isResent then
    if highest == 0 then fail('of ', before + 1, 'lost') end
    return exact(highest)
  end
  -- A sharer that joins others everywhere has their fence. If that is lost, it gets a new one.
  local joins = shared and joined == count and highest > 0
  highest = math.max(highest, floor)
  local fence = joins and highest or math.max(math.min(tonumber(fenceHint), latestHint()), highest + 1)
  assertFence(fence, before)
  raiseCounters(before, count, counters, fence, fenceHint, keepMs, joins and isMarked)
  for i = before + 1, before + count do
    local sharing = sharings[i]
    if not shared then
      call('SET', KEYS[i], owner, 'PX', ttlMs)
      if sharing then call('DEL', sharing.set) end
    elseif sharing then
      sharing:join(KEYS[i], owner, ttlMs, takeover)
    else
      sharingOf(nil, KEYS[i + count]):begin(KEYS[i], owner, ttlMs)
    end
  end
  return fence == tonumber(fenceHint) and 0 or exact(fence)
end
