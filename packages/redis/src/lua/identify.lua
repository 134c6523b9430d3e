-- Returns the run id and the role of this server. A user that may not ask gets empty values, and no error.
local function identify()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(server) ~= 'string' or type(replication) ~= 'string' then return { '', '' } end
  return { string.match(server, 'run_id:(%x+)') or '', string.match(replication, 'role:(%a+)') or '' }
end
