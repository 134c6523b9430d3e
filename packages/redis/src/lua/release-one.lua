-- The short path of release, for one resource in whose list nobody waits. Returns nil for all else, before anything is
-- written.
local function releaseOne(lockKey, list, owner)
  if redis.pcall('GET', lockKey) ~= owner then return 0 end
  if redis.pcall('EXISTS', list) ~= 0 then return nil end
  redis.call('DEL', lockKey)
  redis.pcall('PUBLISH', 'holdfast:released:' .. lockKey, '')
  return 1
end
