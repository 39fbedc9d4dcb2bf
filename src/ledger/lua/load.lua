-- Loads the current states of owners with the requested sessions.
--
-- KEYS  [1] epoch of the data, then the account of each owner
-- ARGV  [1] epoch that the caller expects, then per owner: number of its fields, and the fields
--       of its state, fence and sessions
-- REPLY an error EPOCH if the data has another epoch, or per owner: { state, fence,
--       session … }, false for missing values; or { CORRUPT, reason }
-- EFFECTS none

-- @include epoch

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end

local at = 2
local replies = {}
for index = 2, #KEYS do
  local last = at + tonumber(ARGV[at])
  local found = redis.pcall('HMGET', KEYS[index], unpack(ARGV, at + 1, last))
  at = last + 1
  if found.err then found = { CORRUPT, found.err } end
  replies[index - 1] = found
end
return replies
