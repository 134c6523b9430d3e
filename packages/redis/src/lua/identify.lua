-- Returns the run id and the role of this server. A user that may not ask gets empty values, and no error.
local function identify()
  local server, replication = try('INFO', 'server'), try('INFO', 'replication')
  return {
    string.match(server.err or server, 'run_id:(%x+)') or '',
    string.match(replication.err or replication, 'role:(%a+)') or '',
  }
end
