-- Raises the profile fence of a subscriber, so that commits rated with an older profile are
-- refused.
--
-- KEYS  [1] account
-- ARGV  field of the fence, 1 if a write of the profile begins (dirty), 0 if it has ended; now (ms)
-- REPLY the fence: number, dirty, changed at (ms), packed '<ddd'
-- EFFECTS the field

local stored = redis.call('HGET', KEYS[1], ARGV[1])
local number = stored and struct.unpack('<d', stored) or 0
local fence = struct.pack('<ddd', number + 1, tonumber(ARGV[2]), tonumber(ARGV[3]))
redis.call('HSET', KEYS[1], ARGV[1], fence)
return fence
