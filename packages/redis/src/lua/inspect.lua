local function inspect(before)
  local highest = readCounters(before, 1)
  local key = KEYS[before + 1]
  local holder = get(key)
  local sharing = holder and sharingOf(holder)
  if not sharing then return { holder, call('PTTL', key), exact(highest), recoveringMs() } end
  local claims = sharing:list(key)
  return { claims[1], claims[2], exact(highest), recoveringMs(), claims }
end
