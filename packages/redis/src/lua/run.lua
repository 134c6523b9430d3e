-- Runs the operations of one call in order, each with its first key and the first of the keys of its last resource. The
-- script that includes this sets how many words its header has, how many keys a resource, and how many fields a record.
-- The position of the next record, and of its first key.
local at, first = header + 1, 1
local marks, reply = ARGV[2], { tonumber(ARGV[1]) }
local name = ARGV[at]
while name do
  local number, fields, last = #reply, fieldsOf[name], first + keysEach * (ARGV[at + 1] - 1)
  local ok, answer
  if string.byte(marks, number) == 120 then
    answer = { err = 'ERR this was given up before it was sent' }
  else
    ok, answer = pcall(actions[name], first, last, unpack(ARGV, at + 2, at + 1 + fields))
  end
  if not ok then
    local message = answer.err or answer
    -- A replica has written nothing in this call, and will not. Clients act on errors of a whole call: they reconnect.
    if string.find(message, '^READONLY ') then return { err = message } end
    answer = { 'error', message }
  end
  reply[number + 1] = answer
  at, first = at + 2 + fields, last + keysEach
  name = ARGV[at]
end
return reply
