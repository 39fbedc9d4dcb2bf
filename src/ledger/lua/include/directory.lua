-- The home of a session that stands against a claim, or false if the claim may be written.
-- A claim may replace the home that the claimant expects: its session is known to be gone.
local function standing_home(key, expected)
  local home = redis.call('GET', key)
  if home and home ~= expected then return home end
  return false
end
