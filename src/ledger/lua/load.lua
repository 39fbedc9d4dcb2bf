-- The current states of owners, with the sessions asked for.
--
-- KEYS  one per owner
-- ARGV  per owner: number of sessions, then their fields
-- REPLY per owner: { state, fence, session … }, false for what is absent; or { CORRUPT, reason }
-- EFFECTS none

local at = 1
local replies = {}
for index = 1, #KEYS do
  local count = tonumber(ARGV[at])
  local fields = { 's', 'p' }
  for offset = 1, count do fields[offset + 2] = ARGV[at + offset] end
  at = at + 1 + count
  local found = redis.pcall('HMGET', KEYS[index], unpack(fields))
  if found.err then found = { CORRUPT, found.err } end
  replies[index] = found
end
return replies
