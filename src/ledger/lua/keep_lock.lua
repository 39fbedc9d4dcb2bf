-- Keeps a lock that the caller holds, or gives it back.
--
-- KEYS  [1] lock
-- ARGV  [1] token of the caller, [2] ttl (ms) from now, 0 to give it back
-- REPLY 1, or 0 if somebody else holds it, or nobody
-- EFFECTS the time of the lock, if it is the caller's

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '0' then return redis.call('DEL', KEYS[1]) end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
