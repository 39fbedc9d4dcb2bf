-- Loads the current states of owners with the requested sessions.
--
-- KEYS  [1] epoch of the data, then one per owner
-- ARGV  [1] epoch that the caller expects, then per owner: number of sessions, their fields
-- REPLY an error EPOCH if the data has another epoch, or per owner: { state, fence,
--       session … }, false for missing values; or { CORRUPT, reason }
-- EFFECTS none

-- @include epoch

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end

local at = 2
local replies = {}
for index = 2, #KEYS do
  local count = tonumber(ARGV[at])
  local fields = { 's', 'p' }
  for offset = 1, count do fields[offset + 2] = ARGV[at + offset] end
  at = at + 1 + count
  local found = redis.pcall('HMGET', KEYS[index], unpack(fields))
  if found.err then found = { CORRUPT, found.err } end
  replies[index - 1] = found
end
return replies
