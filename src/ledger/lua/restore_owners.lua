-- Restores owners from the record into a partition whose data was lost.
--
-- KEYS  [1] epoch of the data, [2] stream, then the account of each owner, then stored results of
--       operations
-- ARGV  [1] number of owners, [2] fence (number) that no profile read before satisfies,
--       then per owner: name, sid, packed state; then per operation: ttl (ms), packed result
-- REPLY number of restored owners; an error EPOCH if the data exists
-- EFFECTS owners without their sessions, the results, and one stream entry that names the owners,
--       so that the recorder reads their current states. It is idempotent.

-- @include owner

local epoch = redis.call('GET', KEYS[1])
if epoch then return redis.error_reply('EPOCH ' .. epoch) end

local count, fence = tonumber(ARGV[1]), tonumber(ARGV[2])
local entry, fences = {}, {}
for index = 1, count do
  local name, sid, state = ARGV[index * 3], ARGV[index * 3 + 1], ARGV[index * 3 + 2]
  check_owner(state)
  entry[index * 2 - 1], entry[index * 2] = name, ''
  -- Keep the dirty flag of a profile that is being written.
  local stored = redis.call('HGET', KEYS[index + 2], 'p:' .. sid)
  local number, dirty, changed = 0, 0, 0
  if stored then number, dirty, changed = struct.unpack('<ddd', stored) end
  fences[index] = struct.pack('<ddd', math.max(number + 1, fence), dirty, changed)
end
for index = 1, count do
  local key, sid, state = KEYS[index + 2], ARGV[index * 3 + 1], ARGV[index * 3 + 2]
  local prefix = sid .. ':'
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, #prefix) == prefix then redis.call('HDEL', key, field) end
  end
  redis.call('HSET', key, 's:' .. sid, state, 'p:' .. sid, fences[index])
end
local at = 3 + count * 3
for index = count + 3, #KEYS do
  redis.call('SET', KEYS[index], ARGV[at + 1], 'PX', ARGV[at])
  at = at + 2
end
if count > 0 then redis.call('XADD', KEYS[2], '*', unpack(entry)) end
return count
