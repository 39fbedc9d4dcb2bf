-- Moves members that were listed as due and did not leave, and gives the partition back.
--
-- KEYS  [1] expiry or tombstones, [2] lease
-- ARGV  [1] now (ms), [2] token of the sweeper; then per member: its new score (0: drop it), member
-- REPLY how many moved or were dropped
-- EFFECTS a member that is not due any more stays: its session was closed, reported to or opened
--       anew meanwhile. The lease of another sweeper stays.

local moved = 0
for index = 3, #ARGV, 2 do
  local score, member = ARGV[index], ARGV[index + 1]
  local place = redis.call('ZSCORE', KEYS[1], member)
  if place and tonumber(place) <= tonumber(ARGV[1]) then
    if score == '0' then redis.call('ZREM', KEYS[1], member)
    else redis.call('ZADD', KEYS[1], score, member) end
    moved = moved + 1
  end
end
if redis.call('GET', KEYS[2]) == ARGV[2] then redis.call('DEL', KEYS[2]) end
return moved
