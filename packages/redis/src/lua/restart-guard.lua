local recoveringForMs

-- How long this server must not vote yet, as it may have forgotten claims that were made before its start; 0 if it
-- may vote, -1 if it does not tell its uptime, as where the user may not ask. Its start and its time of day are whole
-- seconds to the server, so that it may have run for almost a second less than it says. Asked here, so that the
-- answer is about this server, now, whatever connections and proxies are in between.
local function recoveringMs()
  local guardMs = ARGV[3]
  if guardMs == '0' then return 0 end
  if not recoveringForMs then
    local info = redis.pcall('INFO', 'server')
    local seconds = type(info) == 'string' and string.match(info, 'uptime_in_seconds:(-?%d+)')
    recoveringForMs = seconds and math.max(0, guardMs - (seconds - 1) * 1000) or -1
  end
  return recoveringForMs
end
