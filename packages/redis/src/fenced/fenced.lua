-- The script of fenced stores: reads, writes or deletes one fenced value in one atomic step.
--
-- KEYS
--   1  the key of the value: a hash with the fields
--        fence  the newest token of an accepted call
--        value  what was last written; absent once it is deleted or has expired
--        by     the token of the last write or delete; absent before the first one
--        until  when the value expires, in Unix milliseconds by this server's clock; absent if it does not
--
-- ARGV
--   1  the action: read, write or delete. A client that gives the call up overwrites the first letter with "-".
--   2  the call id: an integer that the reply repeats
--   3  the token
--   4  how long a token outlives its value, in milliseconds; 0: forever
--   5  write: the value
--   6  write: the ttl of the value, in milliseconds; 0: forever
--
-- Reply
--   {call id, 0, newest token}  The token is older than the last write or delete or, unless this is a read, than the
--                               newest token. Nothing has changed.
--   {call id, 1, by, previous}  Done. `by` is that field before this call, or 0. `previous` is nil if there was no
--                               value; otherwise it is the value for a read, and 1 for a write or delete.
--
-- A read may be late for another read, but not for a write: readers that share a lock need not have the same token.
--
-- Everything that can fail comes before the first command that writes, and that command sets the token and the value
-- together. Tokens are compared as numbers, which Lua represents exactly below 2^53. They are sent and stored as text,
-- because Lua prints numbers with 14 digits.

local action, callId, token, keepMs = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local newValue, ttlMs = ARGV[5], ARGV[6] or '0'
if string.sub(action, 1, 1) == '-' then
  return redis.error_reply('ERR this was given up before it was sent')
end

local key = KEYS[1]
local found = redis.call('HMGET', key, 'fence', 'value', 'by', 'until')
local newest, value, by, untilMs = found[1], found[2], found[3], found[4]
if newest then
  if not string.match(newest, '^%d+$') then
    return redis.error_reply('ERR the token of ' .. key .. ' is not an integer')
  end
  local oldest = action == 'read' and (by or '0') or newest
  if tonumber(token) < tonumber(oldest) then return { callId, 0, newest } end
elseif redis.call('EXISTS', key) == 1 then
  return redis.error_reply('ERR the hash ' .. key .. ' was not made by a fenced store')
end

local nowMs
if untilMs or ttlMs ~= '0' then
  local now = redis.call('TIME')
  nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
end
if untilMs and tonumber(untilMs) <= nowMs then value, untilMs = false, false end

local previous = value and (action == 'read' and value or 1)
local reply = { callId, 1, by or '0', previous }

local isNewer = not newest or tonumber(token) > tonumber(newest)
local fields = { 'fence', token }
if action ~= 'read' then
  value, untilMs = false, false
  fields[3], fields[4] = 'by', token
end
if action == 'write' then
  value = newValue
  fields[5], fields[6] = 'value', value
  if ttlMs ~= '0' then
    untilMs = string.format('%.0f', nowMs + ttlMs)
    fields[7], fields[8] = 'until', untilMs
  end
end
if #fields > 2 or isNewer then redis.call('HSET', key, unpack(fields)) end
if found[2] and not value then redis.call('HDEL', key, 'value') end
if found[4] and not untilMs then redis.call('HDEL', key, 'until') end

if keepMs == '0' or (value and not untilMs) then
  redis.call('PERSIST', key)
elseif value then
  redis.call('PEXPIREAT', key, string.format('%.0f', untilMs + keepMs))
else
  redis.call('PEXPIRE', key, keepMs)
end
return reply
