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

  local givenUp = 'ERR this was given up before it was sent'
  return function(name, at, before, isGivenUp, taken)
    if name == 'acquire-one' then
      if isGivenUp then return 4, 2, false, givenUp end
      return 4, 2, pcall(acquire, before, 1, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
    elseif name == 'acquire' or name == 'acquire-shared' then
      local count, takeover, waiter = tonumber(ARGV[at + 1]), ARGV[at + 6], ARGV[at + 7]
      local keys, shared = (waiter == '' and 2 or 3) * count, name == 'acquire-shared'
      if isGivenUp then return 7, keys, false, givenUp end
      -- Another program may hold a lock with an empty value.
      if takeover == '' then takeover = nil end
      local ok, answer, sharings =
        pcall(acquire, before, count, ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], takeover, shared)
      if ok and waiter ~= '' then updateWaitingLists(before, count, answer, takeover, waiter, shared, sharings) end
      return 7, keys, ok, answer
    elseif name == 'extend' or name == 'extend-shared' then
      local count, mayRejoin, shared = tonumber(ARGV[at + 1]), ARGV[at + 6] == '1', name == 'extend-shared'
      if isGivenUp then return 6, 2 * count, false, givenUp end
      return 6, 2 * count,
        pcall(extend, before, count, ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], mayRejoin, shared)
    elseif name == 'release-one' then
      if taken then return 1, 2, true, { 'next', (nameNext(KEYS[before + 1], KEYS[before + 2], false, taken)) } end
      return 1, 2, pcall(release, before, 1, ARGV[at + 1], true, '')
    elseif name == 'release' then
      local count, isAnnounced = tonumber(ARGV[at + 1]), ARGV[at + 3] == '1'
      return 4, (isAnnounced and 2 or 1) * count, pcall(release, before, count, ARGV[at + 2], isAnnounced, ARGV[at + 4])
    elseif name == 'inspect' then
      return 0, 2, pcall(inspect, before)
    else
      return 0, 1, pcall(identify)
    end
  end
end
