-- The fence counters of resources. A counter covers all lock keys of its slot with the same prefix. Its value is a
-- number in decimal digits. Once an operator has changed the servers, a space and the epoch of the node follow. A
-- leading zero marks that a claim was made again while the server did not vote. It stays until a client with a restart
-- guard writes the counter after the time of the guard: others do not know when that is.

local function fail(of, i, problem)
  error({ err = 'ERR the fence counter ' .. of .. KEYS[i] .. ' is ' .. problem })
end

-- Returns the highest counter of the resources, or 0 if there is none; a table of all counters, by the positions of
-- their keys; and whether one is marked.
local function readCounters(first, last)
  local highest, counters, isMarked = 0, {}, false
  for i = first + 1, last + 1, 4 do
    local value = get(KEYS[i])
    if value then
      local mark, number, epoch = string.match(value, '^(0?)(%d+) ?(%d*)$')
      number = tonumber(number)
      if not number or number > fenceMax then fail('', i, 'not a safe integer') end
      counters[i] = { value = value, mark = mark, number = number, epoch = epoch }
      highest = math.max(highest, number)
      isMarked = isMarked or mark ~= ''
    end
  end
  return highest, counters, isMarked
end

-- Returns the epoch of a node that does not serve clients of another one, or nil if it does.
local function refusingEpoch(counters, epoch)
  for _, counter in pairs(counters) do
    if counter.epoch ~= '' and math.abs(epoch - counter.epoch) > 1 then return counter.epoch end
  end
end

-- Returns the fence that a grant has at least by its hint. One that is far above the counters is limited to the
-- server's clock plus a day, so that a client with a wrong clock cannot use up the range of numbers.
local function limited(fenceHint, highest)
  local hint = tonumber(fenceHint)
  return hint <= highest + 3600000000 and hint or math.min(hint, nowUs() + 86400000000)
end

-- Raises the counters to a number, which the client has usually printed already. Writes only what changes: a server
-- whose memory is full refuses to write a value, and must be able to extend all the same.
local function raiseCounters(first, last, counters, number, printed, mark)
  if number > fenceMax then fail('of ', first, 'used up') end
  for i = first + 1, last + 1, 4 do
    local counter = counters[i] or { mark = '', number = 0, epoch = '' }
    local raised = math.max(number, counter.number)
    local value = raised == tonumber(printed) and printed or digits(raised)
    if mark or ARGV[3] == '0' and counter.mark ~= '' then value = '0' .. value end
    if counter.epoch ~= '' then value = value .. ' ' .. counter.epoch end
    if value ~= counter.value then call('SET', KEYS[i], value) end
  end
end
