-- The value of a key, or false if there is none. Fails for what is no string.
local function get(key)
  local value = redis.pcall('GET', key)
  if value and type(value) == 'table' then error({ err = value.err .. ' (the key ' .. key .. ')' }) end
  return value
end

-- A number in the reply: clients read integers near the largest inexactly. Lua prints numbers with 14 digits unless
-- told otherwise.
local function exact(number)
  return number < 4503599627370496 and number or string.format('%.0f', number)
end
