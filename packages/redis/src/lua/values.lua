-- Returns the value of a key, or false if there is none. Fails if the value is not a string.
local function get(key)
  local value = redis.pcall('GET', key)
  if value and type(value) == 'table' then error({ err = value.err .. ' (the key ' .. key .. ')' }) end
  return value
end

-- Returns a number as the reply has it: as text near the largest safe integer, where clients lose precision. Lua prints
-- numbers with 14 digits by default.
local function exact(number)
  return number < 4503599627370496 and number or string.format('%.0f', number)
end
