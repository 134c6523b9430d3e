-- The short path of acquire, for one free resource with a valid counter. Returns nil in all other cases, before
-- anything is written.
local function acquireOne(lockKey, fenceKey, owner, fenceHint, ttlMs, keepMs, epoch)
  local floor, refusal = floorFor(epoch)
  if refusal then return refusal end
  local highest, lifeMs = 0, keepMs
  local counter = try('GET', fenceKey)
  if counter then
    highest = string.find(counter.err or counter, '^%d+$') and tonumber(counter)
    if not highest then return nil end
  end
  if try('GET', lockKey) then return nil end
  if counter then
    local ms = call('PTTL', fenceKey)
    if ms == -1 then lifeMs = '0' elseif ms > tonumber(keepMs) then lifeMs = ms end
  end

  if floor > highest then highest = floor end
  if highest >= fenceMax then return nil end
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
  return fence < 2 ^ 52 and fence or value
end
