-- Takes the sweep of a partition for one batch, and lists what is due there.
--
-- KEYS  [1] expiry, [2] tombstones, [3] lease
-- ARGV  [1] now (ms), [2] lease (ms), [3] most members of each kind, [4] token of the sweeper
-- REPLY { expired members, tombstone members }, or nothing while another sweeper has it
-- EFFECTS where something is due, the lease is the sweeper's until it gives it back (reindex.lua)
--       or its time is over. Redis counts that time: a sweeper's clock cannot prolong it. The
--       members keep their places, so that after a sweeper has died they are due as before.
--       Where Redis refuses the lease, the members are listed all the same.

local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[4] then return false end
local function due(key)
  return redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
end
local sessions, forgettable = due(KEYS[1]), due(KEYS[2])
-- A Redis that is full refuses the lease. What is forgotten without it makes room again, and the
-- lease only saves work: the commit by version keeps sweepers right.
if #sessions + #forgettable > 0 then redis.pcall('SET', KEYS[3], ARGV[4], 'PX', ARGV[2]) end
return { sessions, forgettable }
