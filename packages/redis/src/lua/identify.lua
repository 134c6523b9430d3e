-- Which run of which server this is. Not being allowed to ask is no failure.
local function identify()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(server) ~= 'string' or type(replication) ~= 'string' then return { '', '' } end
  return { string.match(server, 'run_id:(%x+)') or '', string.match(replication, 'role:(%a+)') or '' }
end
