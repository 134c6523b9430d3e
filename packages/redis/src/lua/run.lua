-- Runs one operation: `action`, with its first key, the first of the keys of its last resource, and the fields from the
-- position `from` to `to`. Each succeeds or fails on its own.
local number = #reply
local ok, answer
if string.byte(marks, number) == 120 then
  answer = { err = 'ERR this was given up before it was sent' }
else
  ok, answer = pcall(action, first, last, unpack(ARGV, from, to))
end
if not ok then
  local message = answer.err or answer
  -- A replica has written nothing in this call, and will not. Clients act on errors of a whole call: they reconnect.
  if string.find(message, '^READONLY ') then return { err = message } end
  answer = { 'error', message }
end
reply[number + 1] = answer
