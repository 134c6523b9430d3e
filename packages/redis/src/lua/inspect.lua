local function inspect(before)
  local highest = readCounters(before, 1)
  local key = KEYS[before + 1]
  return { get(key), redis.call('PTTL', key), exact(highest), recoveringMs() }
end
