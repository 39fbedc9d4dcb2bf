-- Acquires the sweep lease of a partition for one batch and lists what is due there.
--
-- KEYS  [1] expiry, [2] tombstones, [3] lease
-- ARGV  [1] now (ms), [2] lease (ms), [3] maximum number of members of each kind, [4] token of the
--       sweeper
-- REPLY { expired members, tombstone members }, or nothing while another sweeper has the lease
-- EFFECTS if something is due, the sweeper holds the lease until it releases it (reindex.lua) or it
--       expires. Redis measures that time: a sweeper's clock cannot extend it. The members keep
--       their scores, so after the death of a sweeper they are still due. If Redis refuses the
--       lease, the members are listed anyway.

local holder = redis.call('GET', KEYS[3])
if holder and holder ~= ARGV[4] then return false end
local function due(key)
  return redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[1], 'LIMIT', 0, ARGV[3])
end
local sessions, forgettable = due(KEYS[1]), due(KEYS[2])
-- A Redis that is out of memory refuses the lease. Removing tombstones without it frees memory, and
-- the lease only avoids duplicate work: the versioned commit keeps sweepers correct.
if #sessions + #forgettable > 0 then redis.pcall('SET', KEYS[3], ARGV[4], 'PX', ARGV[2]) end
return { sessions, forgettable }
