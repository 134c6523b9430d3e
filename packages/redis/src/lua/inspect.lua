local function inspect(first, _, sharersMax)
  local highest = readCounters(first, first)
  local key = KEYS[first]
  local holder = get(key)
  local sharing = holder and sharingOf(holder, KEYS[first + 3])
  local claims = sharing and sharing:list(key, sharersMax) or { holder, call('PTTL', key) }
  return { claims[1], claims[2], exact(highest), recoveringMs(), sharing and claims or nil }
end
