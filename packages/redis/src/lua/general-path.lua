-- Returns the function that runs any operation. It takes the name of the operation, the position of its record, the
-- number of keys before its own, whether it was given up, and the waiter that the short path of a release has taken
-- from its list. It returns how many fields and keys the operation has, whether it succeeded, and its answer or error.
local function makeGeneralPath()
  -- @include "values"
  -- @include "restart-guard"
  -- @include "fence-counters"
  -- @include "sharers"
  -- @include "waiting-lists"
  -- @include "acquire"
  -- @include "extend"
  -- @include "release"
  -- @include "inspect"
  -- @include "identify"

  local function refuse() error({ err = 'ERR this was given up before it was sent' }) end

  return function(name, at, before, isGivenUp, taken)
    local count = tonumber(ARGV[at + 1])
    if name == 'acquire-one' then
      return 5, 2, pcall(isGivenUp and refuse or acquire, before, 1, nil, false, unpack(ARGV, at + 1, at + 5))
    elseif name == 'acquire' or name == 'acquire-shared' then
      local takeover, waiter = ARGV[at + 7], ARGV[at + 8]
      local keys, shared = (waiter == '' and 2 or 3) * count, name == 'acquire-shared'
      -- Another program may hold a lock with an empty value.
      if takeover == '' then takeover = nil end
      local ok, answer, sharings =
        pcall(isGivenUp and refuse or acquire, before, count, takeover, shared, unpack(ARGV, at + 2, at + 6))
      if ok and waiter ~= '' then updateWaitingLists(before, count, answer, takeover, waiter, shared, sharings) end
      return 8, keys, ok, answer
    elseif name == 'extend' or name == 'extend-shared' then
      local mayRejoin, shared = ARGV[at + 6] == '1', name == 'extend-shared'
      return 6, 2 * count,
        pcall(isGivenUp and refuse or extend, before, count, mayRejoin, shared, unpack(ARGV, at + 2, at + 5))
    elseif name == 'release-one' then
      if taken then return 1, 2, true, { 'next', (nameNext(KEYS[before + 1], KEYS[before + 2], false, taken)) } end
      return 1, 2, pcall(release, before, 1, ARGV[at + 1], true, '')
    elseif name == 'release' then
      local isAnnounced = ARGV[at + 3] == '1'
      return 4, (isAnnounced and 2 or 1) * count, pcall(release, before, count, ARGV[at + 2], isAnnounced, ARGV[at + 4])
    elseif name == 'inspect' then
      return 0, 2, pcall(inspect, before)
    else
      return 0, 1, pcall(identify)
    end
  end
end
