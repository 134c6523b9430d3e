import { sha1 } from "../sha1.ts";

/*
 * One script for all that is done with a fenced key, so that each is one atomic step.
 *
 * KEYS: a hash with the fields
 *   fence: the newest token that was shown
 *   value: what was written last, unless it was deleted or has ended
 *   by: the token under which it was last written or deleted, if ever
 *   until: when the value ends, in Unix milliseconds by this server's clock, if it does
 * ARGV: the step, a ticket that the reply repeats, the token, how long tokens outlive values in milliseconds (0: for ever),
 * and, for a write, the value and its ttl in milliseconds (0: for ever). Each step is one letter:
 *   r: read, w: write, d: delete
 *   -: what was one of these until it was given up
 * The reply is the ticket; then 0 and the newest token where it is newer than this one, and nothing has happened; or else 1,
 * what "by" was before, and, if there was a value, that value to a read, or else 1.
 *
 * Whatever can fail comes before the first write, and the token is written with the value. Tokens are compared as numbers,
 * which Lua has exactly below 2^53, and sent and kept as text, as Lua prints numbers with 14 digits.
 */
/** What `EVAL` takes. */
export const fencedScriptSource = `local step, ticket, token, keepMs = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
if step == '-' then return redis.error_reply('ERR this was given up before it was sent') end

local key = KEYS[1]
local found = redis.call('HMGET', key, 'fence', 'value', 'by', 'until')
local newest, value, by, untilMs = found[1], found[2], found[3], found[4]
if newest then
  if not string.match(newest, '^%d+$') then
    return redis.error_reply('ERR the token of ' .. key .. ' is not an integer')
  end
  if tonumber(token) < tonumber(newest) then return { ticket, 0, newest } end
elseif redis.call('EXISTS', key) == 1 then
  return redis.error_reply('ERR the hash ' .. key .. ' was not made by a fenced store')
end

local ttlMs, nowMs = ARGV[6] or '0'
if untilMs or ttlMs ~= '0' then
  local now = redis.call('TIME')
  nowMs = now[1] * 1000 + math.floor(now[2] / 1000)
end
if untilMs and tonumber(untilMs) <= nowMs then value, untilMs = false, false end
-- Who writes is told whether there was a value.
local answer = { ticket, 1, by or '0', step == 'r' and value or value and 1 }

local fields = { 'fence', token }
if step ~= 'r' then
  value, untilMs = step == 'w' and ARGV[5], false
  fields[3], fields[4] = 'by', token
end
if step == 'w' then
  fields[5], fields[6] = 'value', value
  if ttlMs ~= '0' then
    untilMs = string.format('%.0f', nowMs + ttlMs)
    fields[7], fields[8] = 'until', untilMs
  end
end
if #fields > 2 or token ~= newest then redis.call('HSET', key, unpack(fields)) end
if found[2] and not value then redis.call('HDEL', key, 'value') end
if found[4] and not untilMs then redis.call('HDEL', key, 'until') end

if keepMs == '0' or (value and not untilMs) then
  redis.call('PERSIST', key)
elseif value then
  redis.call('PEXPIREAT', key, string.format('%.0f', untilMs + keepMs))
else
  redis.call('PEXPIRE', key, keepMs)
end
return answer`;

/** What `EVALSHA` takes. Marked, so that bundlers leave both out where there is no fenced store. */
export const fencedScriptSha: string = /* @__PURE__ */ sha1(fencedScriptSource);
