-- Returns the location that prevents the registration of a session, or false if it may be written.
-- A registration may replace the location that the caller expects: that session no longer exists.
-- With false it also returns the replaced location, if there is one, and the time of its
-- registration (ms; 0: unknown).
local function standing_home(key, expected)
  local stored = redis.call('GET', key)
  if not stored then return false end
  local home, claimed = string.match(stored, '^(%d+:%d+):?(%d*)$')
  home = home or stored
  if home ~= expected then return home end
  return false, home, tonumber(claimed) or 0
end
