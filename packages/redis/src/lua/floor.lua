-- The epoch is text, because clients lose precision on integers near the largest safe one.
local nodeFloor, nodeEpoch

-- Returns the floor of the node, or 0; and the answer to an acquire of an epoch that the node does not serve, or nil.
-- Reads the key of both at most once in each call.
local function floorFor(epoch)
  if not nodeFloor then
    local key, first, second = ARGV[4], 0, 0
    local value = key ~= '' and try('GET', key)
    if value then
      -- An error of the server is a table. A string has no field err.
      first, second = string.match(value.err or value, '^(%d+) (%d+)$')
      if not first or math.max(first, second) > fenceMax then
        error({ err = 'ERR the floor ' .. key .. ' is unusable: ' .. (value.err or 'not two safe integers') })
      end
    end
    nodeFloor, nodeEpoch = first + 0, second
  end
  if not epoch or nodeEpoch + 0 == 0 then return nodeFloor end
  return nodeFloor, math.abs(epoch - nodeEpoch) > 1 and { 'epoch', nodeEpoch }
end
