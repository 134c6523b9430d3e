-- Returns whether a value has the form of a Holdfast owner: it ends in 32 hexadecimal digits, perhaps with an epoch,
-- and is short enough.
local function isOwner(value)
  return #value < 512 and string.find(value, string.rep('%x', 32) .. '%.?%d*$')
end
