local recoveringForMs

-- Returns how long this server must not vote yet, because it may have forgotten claims made before its start; 0 if it
-- may vote; -1 if it does not report its uptime, as when the user may not ask. The server counts its uptime in whole
-- seconds, and may have run for almost a second less than it says. The script asks, so that the answer is about this
-- server at this moment, whatever connections and proxies are in between.
local function recoveringMs()
  local guardMs = ARGV[3]
  if guardMs == '0' then return 0 end
  if not recoveringForMs then
    local info = try('INFO', 'server')
    local seconds = string.match(info.err or info, 'uptime_in_seconds:(-?%d+)')
    recoveringForMs = seconds and math.max(0, guardMs - (seconds - 1) * 1000) or -1
  end
  return recoveringForMs
end
