-- Extends or releases a lock that the caller holds.
--
-- KEYS  [1] lock
-- ARGV  [1] token of the caller, [2] new time to live (ms), 0 to release the lock
-- REPLY 1, or 0 if the caller does not hold the lock
-- EFFECTS the time to live of the lock, if the caller holds it

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
