-- Moves the accounts of a shared stream entry that cannot be recorded into entries of their own,
-- and deletes the shared one.
--
-- KEYS  [1] stream
-- ARGV  [1] consumer group, [2] id of the shared entry, then per account: number of its fields,
--       then the name and the value of each
-- REPLY number of added entries; 0 if the shared one does not exist: another recorder was faster
-- EFFECTS the new, undelivered entries instead of the shared one. Only the first write can be
--       refused by Redis.

if #redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2]) == 0 then return 0 end
local at, added = 3, 0
while at <= #ARGV do
  local last = at + 2 * tonumber(ARGV[at])
  redis.call('XADD', KEYS[1], '*', unpack(ARGV, at + 1, last))
  at, added = last + 1, added + 1
end
redis.call('XDEL', KEYS[1], ARGV[2])
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
return added
