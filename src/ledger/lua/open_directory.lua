-- Registers sessions in their accounts before they open: in a cluster the account's commit cannot
-- also write the directory. Every key is of one partition.
--
-- KEYS  [1] epoch of the data, then one directory entry per registration
-- ARGV  [1] epoch that the worker expects, [2] now (ms),
--       then per registration: location, expected location, ttl (ms)
-- REPLY an error EPOCH if the data has another epoch, or per registration: COMMITTED,
--       { REGISTERED, location, key } if the session is registered in another account,
--       { BUSY, location, key } if another account may be opening it
-- EFFECTS the entries of the registrations that are COMMITTED, each with the time of registration

-- @include epoch
-- @include directory

-- Maximum time between a registration and its commit. After it the session is considered not
-- opened.
local OPENING_MS = 5000

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end

local function register(key, location, expected, ttl)
  local conflicting, replaced, registered_ms = conflicting_location(key, expected)
  local now = tonumber(ARGV[2])
  if conflicting then return { REGISTERED, conflicting, key } end
  if replaced and replaced ~= location then
    local age = now - registered_ms
    if age >= 0 and age < OPENING_MS then return { BUSY, replaced, key } end
  end
  redis.call('SET', key, string.format('%s:%d', location, now), 'PX', ttl)
  return COMMITTED
end

local replies = {}
for index = 2, #KEYS do
  local at = index * 3 - 3
  replies[index - 1] = register(KEYS[index], ARGV[at], ARGV[at + 1], ARGV[at + 2])
end
return replies
