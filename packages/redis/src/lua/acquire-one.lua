-- The short path of acquire, for one free resource with a valid counter. Returns nil in all other cases, before
-- anything is written.
local function acquireOne(lockKey, fenceKey, owner, fenceHint, ttlMs, keepMs)
  local highest, lifeMs = 0, keepMs
  local counter = redis.pcall('GET', fenceKey)
  if counter then
    highest = type(counter) == 'string' and string.find(counter, '^%d+$') and tonumber(counter)
    if not highest or highest > 9007199254740990 then return nil end
  end
  if redis.pcall('GET', lockKey) then return nil end
  if counter then
    local ms = call('PTTL', fenceKey)
    if ms == -1 then lifeMs = '0' elseif ms > tonumber(keepMs) then lifeMs = ms end
  end

  local hint = tonumber(fenceHint)
  local fence = math.max(math.min(hint, latestHint()), highest + 1)
  local value = fence == hint and fenceHint or string.format('%.0f', fence)
  if keepMs == '0' or lifeMs == '0' then
    call('SET', fenceKey, value)
  else
    call('SET', fenceKey, value, 'PX', lifeMs)
  end
  call('SET', lockKey, owner, 'PX', ttlMs)
  if fence == hint then return 0 end
  -- Clients lose precision on integers near the largest safe one.
  return fence < 4503599627370496 and fence or value
end
