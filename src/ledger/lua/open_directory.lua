-- Claims a session id for its home, where the directory is not in the slot of the account
-- (cluster).
--
-- KEYS  [1] directory entry
-- ARGV  home, expected home ('' for none), ttl (ms)
-- REPLY the home that stands against the claim, or false
-- EFFECTS the entry is written if nothing stands against it

-- @include directory

local home = standing_home(KEYS[1], ARGV[2])
if home then return home end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
return false
