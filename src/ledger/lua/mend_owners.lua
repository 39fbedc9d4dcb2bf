-- Corrects owners of one account, all or none.
--
-- KEYS  [1] epoch of the data, [2] stream, [3] result of the correction, [4] account, then results
--       of operations that the data has lost
-- ARGV  [1] epoch that the caller expects, [2] number of owners, [3] time to live of the result
--       (ms), [4] result, [5] record for the recorder, then per owner: name, field of the state,
--       version at the time of reading (0: it did not exist), packed state, number of sessions,
--       then per session: field, packed session; then per lost operation: time to live (ms),
--       packed result
-- REPLY COMMITTED, CONFLICT if an owner has changed since it was read, REPEATED if the correction
--       was made before; or an error EPOCH
-- EFFECTS states, sessions, results and one stream entry; or nothing. Versions may skip numbers to
--       exceed all recorded ones. An operation whose result still exists keeps it.

-- @include epoch
-- @include owner

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end
if redis.call('EXISTS', KEYS[3]) == 1 then return REPEATED end

local account, owners, at = KEYS[4], tonumber(ARGV[2]), 6
local entry, states = {}, {}
for owner = 1, owners do
  local name, field, read, state, sessions =
    ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), ARGV[at + 3], tonumber(ARGV[at + 4])
  local version = check_owner(state)
  local before = stored_totals(redis.call('HGET', account, field))
  if before ~= read or version <= before then return CONFLICT end
  local fields, names = { account, field, state }, {}
  at = at + 5
  for session = 1, sessions do
    names[session] = ARGV[at]
    fields[#fields + 1], fields[#fields + 2] = ARGV[at], ARGV[at + 1]
    at = at + 2
  end
  states[owner] = fields
  entry[owner * 2 - 1], entry[owner * 2] = name, table.concat(names, ' ')
end
entry[#entry + 1], entry[#entry + 2] = 'r', ARGV[5]
redis.call('XADD', KEYS[2], '*', unpack(entry))
for owner = 1, owners do redis.call('HSET', unpack(states[owner])) end
redis.call('SET', KEYS[3], ARGV[4], 'PX', ARGV[3])
for key = 5, #KEYS do
  redis.call('SET', KEYS[key], ARGV[at + 1], 'PX', ARGV[at], 'NX')
  at = at + 2
end
return COMMITTED
