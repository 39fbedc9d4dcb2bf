-- Removes tombstones that are due.
--
-- KEYS  [1] tombstones, [2] expiry, then the account of each member
-- ARGV  now (ms), then per member: member, session field
-- REPLY number of removed sessions
-- EFFECTS a member that is not due any more (usage was reported after expiry, or its id was opened
--       and ended again) stays; if its id was opened again, or if the account is damaged, only the
--       member is removed

local now, removed = tonumber(ARGV[1]), 0
for index = 3, #KEYS do
  local member, field = ARGV[index * 2 - 4], ARGV[index * 2 - 3]
  local score = redis.call('ZSCORE', KEYS[1], member)
  if score and tonumber(score) <= now then
    redis.call('ZREM', KEYS[1], member)
    if not redis.call('ZSCORE', KEYS[2], member) then
      redis.pcall('HDEL', KEYS[index], field)
      removed = removed + 1
    end
  end
end
return removed
