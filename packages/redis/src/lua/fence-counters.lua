-- The fence counters of the lock keys after the first `before` keys. A counter is a number in decimal digits. A leading
-- zero marks a claim that was made again while the server did not vote.

local function fail(of, i, problem)
  error({ err = 'ERR the fence counter ' .. of .. KEYS[i] .. ' is ' .. problem })
end

-- Returns the highest counter, or 0 if there is none; a table of all counters by the positions of their keys; and
-- whether one is marked.
local function readCounters(before, count)
  local highest, counters, isMarked = 0, {}, false
  for i = before + count + 1, before + 2 * count do
    local value = get(KEYS[i])
    if value then
      local number = string.match(value, '^%d+$') and tonumber(value)
      if not number or number > fenceMax then
        fail('', i, 'not a safe integer')
      end
      counters[i] = number
      if number > highest then highest = number end
      isMarked = isMarked or string.byte(value) == 48
    end
  end
  return highest, counters, isMarked
end

-- Raises the counters to a number, which the client has usually printed already. Never shortens the life of a counter
-- below what another client wanted.
local function raiseCounters(before, count, counters, number, printed, keepMs, mark)
  for i = before + count + 1, before + 2 * count do
    local raised, lifeMs = number, keepMs
    if counters[i] then
      raised = math.max(number, counters[i])
      local ms = call('PTTL', KEYS[i])
      if ms == -1 then lifeMs = '0' elseif ms > tonumber(keepMs) then lifeMs = ms end
    end
    local value = raised == tonumber(printed) and printed or digits(raised)
    if mark then value = '0' .. value end
    if keepMs == '0' or lifeMs == '0' then
      call('SET', KEYS[i], value)
    else
      call('SET', KEYS[i], value, 'PX', lifeMs)
    end
  end
end

local function assertFence(number, before)
  if number > fenceMax then fail('of ', before + 1, 'used up') end
end
