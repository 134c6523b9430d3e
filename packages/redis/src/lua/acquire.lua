-- Returns whether a value has the form of a Holdfast owner: it ends in 32 hexadecimal digits, perhaps with an epoch,
-- and is short enough.
local function isOwner(value)
  return #value < 512 and string.find(value, string.rep('%x', 32) .. '%.?%d*$')
end

-- Claims all resources, or none. Everything that can fail comes before the first write, and counters are written before
-- claims: if the rest is lost, a counter that is too high does no harm, but a claim without its counter would.
local function claim(first, last, owner, fenceHint, ttlMs, takeover, shared, counters, highest, sharings)
  -- The longest remaining time among the blocking claims, or -1 if one of them has no end; the position of that claim,
  -- or 0 if it is this owner's; and its owner, or empty for the value of another program, which may be long, or secret.
  local isResent, joins, retryAfterMs, held, heldBy = true, shared, nil, 0, nil
  for i = first, last, 4 do
    local holder = get(KEYS[i])
    local sharing = holder and sharingOf(holder, KEYS[i + 3])
    local isMine, ms, by = holder == owner, nil, holder
    sharings[i] = sharing
    if sharing then
      ms, by, isMine = sharing:blockerOf(KEYS[i], owner, takeover, shared)
    elseif holder and holder ~= takeover then
      ms = call('PTTL', KEYS[i])
    end
    isResent = isResent and isMine
    joins = joins and sharing and sharing:longestOf(owner, takeover)
    if ms and (not retryAfterMs or retryAfterMs ~= -1 and (ms < 0 or ms > retryAfterMs)) then
      retryAfterMs, heldBy = math.max(ms, -1), isOwner(by) and by or ''
      held = by ~= owner and (i - first) / 4 + 1 or 0
    end
  end
  if isResent then
    if highest == 0 then fail('of ', first, 'lost') end
    return exact(highest)
  end
  if retryAfterMs then return { 'denied', retryAfterMs, held, heldBy } end

  -- A sharer that joins others everywhere has their fence. If that is lost, it gets a new one.
  joins = joins and highest > 0
  local fence = joins and highest or math.max(limited(fenceHint, highest), highest + 1)
  raiseCounters(first, last, counters, fence, fenceHint)
  for i = first, last, 4 do
    local sharing = sharings[i]
    if not shared then
      call('SET', KEYS[i], owner, 'PX', ttlMs)
      if sharing then call('DEL', sharing.set) end
    elseif sharing then
      sharing:join(KEYS[i], owner, ttlMs, takeover)
    else
      sharingOf(nil, KEYS[i + 3]):begin(KEYS[i], owner, ttlMs)
    end
  end
  return fence == tonumber(fenceHint) and 0 or exact(fence)
end

local function acquire(first, last, owner, fenceHint, ttlMs, epoch, takeover, waiter, shared)
  -- Another program may hold a lock with an empty value.
  if takeover == '' then takeover = nil end
  shared = shared == '1'
  local highest, counters = readCounters(first, last)
  local nodeEpoch = refusingEpoch(counters, epoch)
  if nodeEpoch then return { 'epoch', nodeEpoch } end
  local notYetMs = recoveringMs()
  if notYetMs ~= 0 then return { 'recovering', notYetMs } end
  local sharings = {}
  local answer = claim(first, last, owner, fenceHint, ttlMs, takeover, shared, counters, highest, sharings)
  if waiter ~= '' then
    updateWaitingLists(first, last, type(answer) == 'table', takeover, waiter, shared, sharings, counters)
  end
  return answer
end
