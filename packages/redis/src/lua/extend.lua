-- Extends a claim that is still there or, if the owner may rejoin, also claims again what is free.
--
-- Where the server may have forgotten a vote for another lock, a claim that was made again must not count as one that
-- was held all along until that other lock has ended: it is answered as if it had been made again just now, and its
-- counter is marked. A claim that the server has remembered counts.
local function extend(before, count, owner, atLeast, ttlMs, keepMs, mayRejoin)
  local mine, others = 0, 0
  for i = before + 1, before + count do
    local holder = get(KEYS[i])
    if holder == owner then mine = mine + 1 elseif holder then others = others + 1 end
  end
  local isHeld = mine == count
  if not isHeld and (others > 0 or not mayRejoin) then return 0 end

  local highest, counters, isMarked = readCounters(before, count)
  local isVoteDoubtful = (isMarked or not isHeld) and recoveringMs() ~= 0
  local fence = tonumber(atLeast)
  if not isHeld then fence = math.max(fence, highest + 1) end
  assertFence(fence, before)
  raiseCounters(before, count, counters, fence, atLeast, keepMs, isVoteDoubtful)
  for i = before + 1, before + count do
    if not isHeld then
      redis.call('SET', KEYS[i], owner, 'PX', ttlMs)
    elseif redis.call('PTTL', KEYS[i]) < tonumber(ttlMs) then
      -- Never ends a claim earlier than another extension asked for: the two may come in any order. Gives an end to a
      -- claim without one, which no Holdfast client made.
      redis.call('PEXPIRE', KEYS[i], ttlMs)
    end
  end
  if isVoteDoubtful or not isHeld then return -1 end
  return exact(math.max(fence, highest))
end
