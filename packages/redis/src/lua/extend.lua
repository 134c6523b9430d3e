-- Extends a claim that is still held. If rejoin is set, also claims free resources again.
--
-- If the server may have forgotten a vote for another lock, a claim that was made again must not count as held
-- throughout until that other lock has ended. It is answered as if it had just been made again, and its counter is
-- marked. A claim that the server has kept does count.
local function extend(before, count, mayRejoin, shared, owner, atLeast, ttlMs, keepMs)
  local mine, others, joined, sharings = 0, 0, 0, {}
  for i = before + 1, before + count do
    local holder = get(KEYS[i])
    local sharing = shared and holder and sharingOf(holder)
    local isMine, isOther = holder == owner, holder and holder ~= owner
    if sharing then
      sharings[i] = sharing
      isMine = sharing:endOf(owner) ~= nil
      local isJoined = sharing:longestOf(owner) ~= nil
      if isJoined then joined = joined + 1 end
      isOther = not isMine and not isJoined
    end
    if isMine then mine = mine + 1 elseif isOther then others = others + 1 end
  end
  local isHeld = mine == count
  if not isHeld and (others > 0 or not mayRejoin) then return 0 end

  local highest, counters, isMarked = readCounters(before, count)
  local isVoteDoubtful = (isMarked or not isHeld) and recoveringMs() ~= 0
  local fence = tonumber(atLeast)
  if not isHeld then fence = math.max(fence, highest + (joined == count and 0 or 1)) end
  assertFence(fence, before)
  raiseCounters(before, count, counters, fence, atLeast, keepMs, isVoteDoubtful)
  for i = before + 1, before + count do
    local sharing = sharings[i]
    if sharing and isHeld then
      sharing:keep(KEYS[i], owner, ttlMs)
    elseif sharing then
      sharing:join(KEYS[i], owner, ttlMs)
    elseif not isHeld and shared then
      sharingOf(nil, KEYS[i + count]):begin(KEYS[i], owner, ttlMs)
    elseif not isHeld then
      call('SET', KEYS[i], owner, 'PX', ttlMs)
    elseif call('PTTL', KEYS[i]) < tonumber(ttlMs) then
      -- Never shortens a claim below what another extension asked for, because the two may arrive in any order. Adds a
      -- ttl to a claim without one, which no Holdfast client made.
      call('PEXPIRE', KEYS[i], ttlMs)
    end
  end
  if isVoteDoubtful or not isHeld then return -1 end
  return exact(math.max(fence, highest))
end
