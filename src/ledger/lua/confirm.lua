-- Writes a mark, so that the replicas can be waited for: what they have then includes all that was
-- written before, whoever wrote it.
--
-- KEYS  [1] epoch of the data, [2] the mark
-- ARGV  [1] epoch that the worker knows
-- REPLY an error EPOCH if the data is another's, or COMMITTED
-- EFFECTS the mark

-- @include epoch

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end
redis.call('SET', KEYS[2], '')
return COMMITTED
