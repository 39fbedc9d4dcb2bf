-- The home of a session that stands against a claim, or false if the claim may be written.
-- A claim may replace the home that the claimant expects: its session is known to be gone.
-- Then also the home that it replaces, if there is one, and when that was claimed (ms; 0: unknown).
local function standing_home(key, expected)
  local stored = redis.call('GET', key)
  if not stored then return false end
  local home, claimed = string.match(stored, '^(%d+:%d+):?(%d*)$')
  home = home or stored
  if home ~= expected then return home end
  return false, home, tonumber(claimed) or 0
end
