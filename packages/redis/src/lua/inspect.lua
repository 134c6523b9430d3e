local function inspect(before)
  local highest, floor = readCounters(before, 1), floorFor()
  local key = KEYS[before + 1]
  local holder = get(key)
  local sharing = holder and sharingOf(holder)
  local claims = sharing and sharing:list(key) or { holder, call('PTTL', key) }
  return { claims[1], claims[2], exact(highest), recoveringMs(), exact(floor), sharing and claims or nil }
end
