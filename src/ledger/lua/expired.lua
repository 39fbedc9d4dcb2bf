-- Leases what is due in a partition: open sessions that expired, and tombstones to forget.
--
-- KEYS  [1] expiry, [2] tombstones
-- ARGV  now (ms), lease (ms), most members of each kind
-- REPLY { expired members, tombstone members }
-- EFFECTS the members returned come due again only after the lease

local now, lease, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local reply = {}
for index = 1, 2 do
  local due = redis.call('ZRANGEBYSCORE', KEYS[index], '-inf', ARGV[1], 'LIMIT', 0, limit)
  for _, member in ipairs(due) do
    redis.call('ZADD', KEYS[index], string.format('%d', now + lease), member)
  end
  reply[index] = due
end
return reply
