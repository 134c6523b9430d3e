-- Returns the function that runs any operation except release-one. It takes the name of the operation, the position of
-- its record, the number of keys before its own, and whether it was given up. It returns how many fields and keys the
-- operation has, whether it succeeded, and its answer or error.
local function makeGeneralPath()
  -- @include "values"
  -- @include "restart-guard"
  -- @include "fence-counters"
  -- @include "waiting-lists"
  -- @include "acquire"
  -- @include "extend"
  -- @include "release"
  -- @include "inspect"
  -- @include "identify"

  local givenUp = 'ERR this was given up before it was sent'
  return function(name, at, before, isGivenUp)
    if name == 'acquire-one' then
      if isGivenUp then return 4, 2, false, givenUp end
      return 4, 2, pcall(acquire, before, 1, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
    elseif name == 'acquire' then
      local count, takeover, waiter = tonumber(ARGV[at + 1]), ARGV[at + 6], ARGV[at + 7]
      local keys = (waiter == '' and 2 or 3) * count
      if isGivenUp then return 7, keys, false, givenUp end
      -- Another program may hold a lock with an empty value.
      if takeover == '' then takeover = nil end
      local ok, answer =
        pcall(acquire, before, count, ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], takeover)
      if ok and waiter ~= '' then updateWaitingLists(before, count, answer, takeover, waiter) end
      return 7, keys, ok, answer
    elseif name == 'extend' then
      local count, mayRejoin = tonumber(ARGV[at + 1]), ARGV[at + 6] == '1'
      if isGivenUp then return 6, 2 * count, false, givenUp end
      return 6, 2 * count,
        pcall(extend, before, count, ARGV[at + 2], ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], mayRejoin)
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
