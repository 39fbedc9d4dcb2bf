-- Writes a marker so that the caller can wait for the replicas: a replica that has it also has all
-- earlier writes of any client.
--
-- KEYS  [1] epoch of the data, [2] the marker
-- ARGV  [1] epoch that the worker expects
-- REPLY an error EPOCH if the data has another epoch, or COMMITTED
-- EFFECTS the marker

-- @include epoch

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end
redis.call('SET', KEYS[2], '')
return COMMITTED
