-- Moves members that were listed as due but stay in the index, and releases the lease.
--
-- KEYS  [1] expiry or tombstones, [2] lease
-- ARGV  [1] now (ms), [2] token of the sweeper; then per member: its new score (0: remove), member
-- REPLY number of moved or removed members
-- EFFECTS a member that is not due any more is unchanged: its session was closed, reported to or
--       opened again meanwhile. The lease of another sweeper is unchanged.

local moved = 0
for index = 3, #ARGV, 2 do
  local new_score, member = ARGV[index], ARGV[index + 1]
  local current_score = redis.call('ZSCORE', KEYS[1], member)
  if current_score and tonumber(current_score) <= tonumber(ARGV[1]) then
    if new_score == '0' then redis.call('ZREM', KEYS[1], member)
    else redis.call('ZADD', KEYS[1], new_score, member) end
    moved = moved + 1
  end
end
if redis.call('GET', KEYS[2]) == ARGV[2] then redis.call('DEL', KEYS[2]) end
return moved
