local fenceMax = 2 ^ 53 - 1

-- Returns the value of a key, or false if there is none. Fails if the value is not a string.
local function get(key)
  local value = try('GET', key)
  if value and value.err then error({ err = value.err .. ' (the key ' .. key .. ')' }) end
  return value
end

-- Returns all digits of a number. Lua prints 14 of them by default.
local function digits(number) return string.format('%.0f', number) end

-- Returns a number as the reply has it: as text near the largest safe integer, where clients lose precision.
local function exact(number) return number < 2 ^ 52 and number or digits(number) end

local serverUs

-- Returns the server's clock in microseconds.
local function nowUs()
  if not serverUs then
    local now = call('TIME')
    serverUs = now[1] * 1000000 + now[2]
  end
  return serverUs
end
