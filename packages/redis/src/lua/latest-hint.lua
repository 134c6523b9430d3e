local latestHintUs

-- Returns the upper limit of hints, in microseconds: the server's clock plus a day, so that a client with a wrong clock
-- cannot use up the range of numbers.
local function latestHint()
  if not latestHintUs then
    local now = call('TIME')
    latestHintUs = now[1] * 1000000 + now[2] + 24 * 60 * 60 * 1000000
  end
  return latestHintUs
end
