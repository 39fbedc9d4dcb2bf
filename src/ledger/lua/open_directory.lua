-- Puts sessions at home in their accounts before they open: in a cluster, where the account's
-- commit cannot do both. Every key is of one partition.
--
-- KEYS  [1] epoch of the data, then one directory entry per claim
-- ARGV  [1] epoch that the worker knows, [2] now (ms),
--       then per claim: home, expected home, ttl (ms)
-- REPLY an error EPOCH if the data is another's, or per claim: COMMITTED, { CLAIMED, home, key } if
--       it is at home elsewhere, { BUSY, home, key } if another account may just be opening it
-- EFFECTS the entries of the claims that are COMMITTED, each with the time of its claim

-- @include epoch
-- @include directory

-- Between a claim and the commit that it is for. Then nobody is coming any more.
local OPENING_MS = 5000

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end

local function claim(key, home, expected, ttl)
  local standing, other, claimed = standing_home(key, expected)
  local now = tonumber(ARGV[2])
  if standing then return { CLAIMED, standing, key } end
  if other and other ~= home then
    local age = now - claimed
    if age >= 0 and age < OPENING_MS then return { BUSY, other, key } end
  end
  redis.call('SET', key, string.format('%s:%d', home, now), 'PX', ttl)
  return COMMITTED
end

local replies = {}
for index = 2, #KEYS do
  local at = index * 3 - 3
  replies[index - 1] = claim(KEYS[index], ARGV[at], ARGV[at + 1], ARGV[at + 2])
end
return replies
