-- The lock script: runs the operations of one call in order.
--
-- All operations share one script, so that a release that follows an acquire on the same connection finds the script in
-- the server's cache whenever the acquire did. Each operation succeeds or fails on its own.
--
-- KEYS, for each operation in turn: its lock keys; except for release and identify, their fence keys in the same order;
-- for an acquire with a waiter and for an announced release, the keys of their waiting lists. The sharers of a resource
-- are in a key of the same slot that is not among KEYS: the value of the lock key names it, see sharers.lua.
-- ARGV: a header, and a record for each operation.
--   call id   the reply repeats it
--   marks     a character for each operation: "x" if the operation was given up and must have no effect
--   guardMs   how long after its start the server does not vote for new locks; 0: it votes at once
--   floorKey  the key of the floor and the epoch, which is not among KEYS; empty if there is none, as on a cluster, and
--             in a call without acquire and inspect
-- A record is the name of the operation and its fields, in fixed positions:
--   acquire-one   owner, fence hint, ttlMs, keepMs, epoch (one resource, no takeover, no waiter, no guard)
--   acquire       count, owner, fence hint, ttlMs, keepMs, epoch, takeover, waiter; or acquire-shared
--   extend        count, owner, fence, ttlMs, keepMs, rejoin (0 or 1); or extend-shared
--   release-one   owner (one resource, announced, no waiter)
--   release       count, owner, announced (0 or 1), waiter
--   inspect       none (one resource)
--   identify      none (one lock key, which selects the server of a cluster)
-- count: how many resources. keepMs: how long fence counters are kept from then on; 0: forever. takeover, waiter: empty
-- if there is none.
--
-- Reply: the call id as a number, and an answer for each operation: a number in the common case, otherwise a list.
--   any operation   {"error", message}
--   acquire         0: granted, with the hint as its fence; any other fence;
--                   {"denied", retryAfterMs or -1, position of a held resource or 0, its owner};
--                   {"recovering", ms, or -1 if the server does not report its uptime};
--                   {"epoch", the epoch of the node, which does not serve that of the request}
--   extend          the fence; 0: not held; -1: rejoined
--   release         how many claims it ended; {"next", waiter} if a resource is free then, and a waiter is next
--   inspect         {owner or false, remaining ms as of PTTL, fence, recovering ms, floor}; for a shared resource also
--                   a list of the sharers that last longest: owner, remaining ms, and so on
--   identify        {run id, role}; both empty if the user may not ask
--
-- Commands take most of the time of an operation; printing a number takes about as long as a command.

-- The common case has a short path. Lua creates functions again in every call, which takes as long as a command, so the
-- general path is created only when it is needed.
local call, try = redis.call, redis.pcall
local fenceMax = 2 ^ 53 - 1
-- @include "latest-hint"
-- @include "floor"
-- @include "acquire-one"
-- @include "release-one"
-- @include "general-path"

local marks = ARGV[2]
local anyGivenUp = string.find(marks, 'x')
local reply = { tonumber(ARGV[1]) }
local general
-- The position of the next record, the number of keys before its own, and the position of its answer.
local at, before, number = 5, 0, 1
local name = ARGV[5]
while name do
  local ok, answer, taken, fields, keys
  if name == 'acquire-one' and not anyGivenUp then
    fields, keys = 5, 2
    ok, answer = pcall(acquireOne, KEYS[before + 1], KEYS[before + 2], unpack(ARGV, at + 1, at + 5))
  elseif name == 'release-one' then
    fields, keys = 1, 2
    ok, answer, taken = pcall(releaseOne, KEYS[before + 1], KEYS[before + 2], ARGV[at + 1])
  end
  if not fields or ok and not answer then
    general = general or makeGeneralPath()
    local isGivenUp = anyGivenUp and string.byte(marks, number) == 120
    fields, keys, ok, answer = general(name, at, before, isGivenUp, taken)
  end
  if not ok then
    local message = answer.err or answer
    -- A replica has written nothing in this call, and will not. Clients act on errors of a whole call: they reconnect.
    if string.find(message, '^READONLY ') then return { err = message } end
    answer = { 'error', message }
  end
  number = number + 1
  reply[number] = answer
  at = at + 1 + fields
  before = before + keys
  name = ARGV[at]
end
return reply
