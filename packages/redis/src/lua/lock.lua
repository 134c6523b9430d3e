-- The lock script: runs the operations of one call in order. Each succeeds or fails on its own.
--
-- KEYS, for each resource of each operation in turn: the lock key, the fence counter, the waiting list, the sharers.
-- ARGV: a header, and a record for each operation.
--   call id   the reply repeats it
--   marks     a character for each operation: "x" if the operation was given up and must have no effect
--   guardMs   how long after its start the server does not vote for new locks; 0: it votes at once
-- A record is the name of the operation, the number of its resources, and its fields, in fixed positions:
--   acquire   owner, fence hint, ttlMs, epoch, takeover, waiter, shared (0 or 1)
--   extend    owner, fence, ttlMs, shared (0 or 1), rejoin (0 or 1)
--   release   owner, announced (0 or 1), waiter
--   inspect   the most sharers to list (one resource)
-- takeover, waiter: empty if there is none.
--
-- Reply: the call id as a number, and an answer for each operation: a number in the common case, otherwise a list.
--   any operation   {"error", message}
--   acquire         0: granted, with the hint as its fence; any other fence;
--                   {"denied", retryAfterMs or -1, position of a held resource or 0, its owner};
--                   {"recovering", ms, or -1 if the server does not report its uptime};
--                   {"epoch", the epoch of the node, which does not serve that of the request}
--   extend          the fence; 0: not held; -1: rejoined; {"held", an owner, or empty}: another one has it
--   release         how many claims it ended; {"next", waiter} if a resource is free then, and a waiter is next
--   inspect         {owner or false, remaining ms as of PTTL, fence, recovering ms}; for a shared resource also
--                   a list of the sharers that last longest: owner, remaining ms, and so on
local call, try = redis.call, redis.pcall
-- @include "values"
-- @include "restart-guard"
-- @include "fence-counters"
-- @include "sharers"
-- @include "waiting-lists"
-- @include "acquire"
-- @include "extend"
-- @include "release"
-- @include "inspect"

local actions = { acquire = acquire, extend = extend, release = release, inspect = inspect }
local fieldsOf = { acquire = 7, extend = 5, release = 3, inspect = 1 }
local marks, reply = ARGV[2], { tonumber(ARGV[1]) }
-- The position of the next record, and of its first key.
local at, first, name = 4, 1, ARGV[4]
while name do
  local action, last, from, to = actions[name], first + 4 * ARGV[at + 1] - 4, at + 2, at + 1 + fieldsOf[name]
  -- Each succeeds or fails on its own.
  local number = #reply
  local ok, answer = false, { err = 'ERR this was given up before it was sent' }
  if string.byte(marks, number) ~= 120 then
    ok, answer = pcall(action, first, last, unpack(ARGV, from, to))
  end
  if not ok then
    local message = answer.err or answer
    -- A replica has written nothing in this call, and will not. Clients act on errors of a whole call: they reconnect.
    if string.find(message, '^READONLY ') then return { err = message } end
    answer = { 'error', message }
  end
  reply[number + 1] = answer
  at, first, name = to + 1, last + 4, ARGV[to + 1]
end
return reply
