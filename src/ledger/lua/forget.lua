-- Drops tombstones that this sweeper has leased.
--
-- KEYS  [1] tombstones, then the owner of each member
-- ARGV  the score that the lease set, then per member: member, session field
-- REPLY how many were dropped
-- EFFECTS a member whose score is another (leased again, or its session id opened anew) stays;
--       of an owner that is damaged only the member goes

local dropped = 0
for index = 2, #KEYS do
  local member, field = ARGV[index * 2 - 2], ARGV[index * 2 - 1]
  if redis.call('ZSCORE', KEYS[1], member) == ARGV[1] then
    redis.call('ZREM', KEYS[1], member)
    redis.pcall('HDEL', KEYS[index], field)
    dropped = dropped + 1
  end
end
return dropped
