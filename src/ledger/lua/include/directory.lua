-- Returns the location that prevents the registration of a session, or false if it may be written.
-- A registration may replace the location that the caller expects: that session no longer exists.
-- With false it also returns the replaced location, if there is one, and the time of its
-- registration (ms; 0: unknown).
local function conflicting_location(key, expected)
  local stored = redis.call('GET', key)
  if not stored then return false end
  local location, registered_ms = string.match(stored, '^(%d+:%d+):?(%d*)$')
  location = location or stored
  if location ~= expected then return location end
  return false, location, tonumber(registered_ms) or 0
end
