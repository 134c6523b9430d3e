-- Extends a claim that is still held. If rejoin is set, also claims free resources again.
--
-- If the server may have forgotten a vote for another lock, a claim that was made again must not count as held
-- throughout until that other lock has ended. It is answered as if it had just been made again, and its counter is
-- marked. A claim that the server has kept does count.
local function extend(first, last, owner, atLeast, ttlMs, shared, rejoin)
  shared = shared == '1'
  local isHeld, joins, sharings, other = true, true, {}, nil
  for i = first, last, 4 do
    local holder = get(KEYS[i])
    local sharing = shared and holder and sharingOf(holder, KEYS[i + 3])
    local isMine, isJoined = holder == owner, false
    if sharing then
      sharings[i] = sharing
      isMine = sharing:endOf(owner) ~= nil
      isJoined = sharing:longestOf(owner) ~= nil
    end
    isHeld = isHeld and isMine
    if holder and not isMine and not isJoined then other = holder end
    joins = joins and isJoined
  end
  if not isHeld and other then return { 'held', isOwner(other) and other or '' } end
  if not isHeld and rejoin ~= '1' then return 0 end

  local highest, counters, isMarked = readCounters(first, last)
  local isVoteDoubtful = (isMarked or not isHeld) and recoveringMs() ~= 0
  local fence = tonumber(atLeast)
  if not isHeld then fence = math.max(fence, highest + (joins and 0 or 1)) end
  raiseCounters(first, last, counters, fence, atLeast, isVoteDoubtful)
  for i = first, last, 4 do
    local sharing = sharings[i]
    if sharing and isHeld then
      sharing:keep(KEYS[i], owner, ttlMs)
    elseif sharing then
      sharing:join(KEYS[i], owner, ttlMs)
    elseif not isHeld and shared then
      sharingOf(nil, KEYS[i + 3]):begin(KEYS[i], owner, ttlMs)
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
