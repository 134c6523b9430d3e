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
