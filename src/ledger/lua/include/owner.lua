-- Sums of a packed owner (layout: owner-packing.ts), with each bucket's conservation checked.
-- Returns version and total credited, or raises an error that says what is damaged.
local OWNER_FORMAT = 1
local HEADER_BYTES = 41
local AMOUNTS_BYTES = 48
local SAFE_INTEGER_MAX = 9007199254740991

local function check_owner(packed)
  local format, version, _, owed, repaid, count = struct.unpack('<Bddddd', packed)
  if format ~= OWNER_FORMAT then error('owner: unknown format', 0) end
  if repaid < 0 or repaid > owed then error('owner: repaid more than owed', 0) end
  local total = 0
  for index = 0, count - 1 do
    local id, credited, spent, reserved, free, limit =
      struct.unpack('<dddddd', packed, HEADER_BYTES + 1 + index * AMOUNTS_BYTES)
    if spent + reserved + free ~= credited then
      error(string.format('bucket %d: credited is not spent + reserved + free', id), 0)
    end
    if spent < 0 or reserved < 0 or (free < 0 and limit == 0) then
      error(string.format('bucket %d: negative amount', id), 0)
    end
    if credited > SAFE_INTEGER_MAX or spent > SAFE_INTEGER_MAX then
      error(string.format('bucket %d: amount beyond 2^53', id), 0)
    end
    total = total + credited
  end
  return version, total
end
