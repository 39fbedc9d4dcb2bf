-- Writes what workers have settled, account by account, if nobody else has committed meanwhile.
--
-- KEYS  [1] epoch of the data, then every key that the accounts below name by its index
-- ARGV  [1] epoch that the worker knows
--       [2] the packed batch, little endian; (text) is its length as I4, then its bytes:
--       d now (ms), H accounts; then per account:
--         I4 bytes of this account after this field
--         d expected version of the shared owner (-1: any), d expected fence of the account's
--         profile (-1: any), d token of the worker's turn (negative: it wants the turn upon a
--         conflict), H keys of shared owner, expiry, tombstones, stream,
--         H owners, H claims, H operations (0 or 1), H 1 if the shared state is written
--         per owner:  H key, d expected version, d expected profile fence (-1: any), H sessions,
--                     (name), (state); per session: d expiry (0: as it is, -1: none),
--                     d end of tombstone (likewise), (field), (packed session)
--         shared:     (name), (state), if it is written
--         per claim:  H key, d ttl (ms), (home), (expected home)
--         operation:  H key, d ttl (ms), (result)
--         record:     (packed record)
-- REPLY an error EPOCH if the data is another's, or per account: COMMITTED, or { code, ... } as
--       replies.ts says;
--       CONFLICT carries the shared state and its fence, then per owner: state, fence, sessions;
--       CLAIMED carries the home and the directory key;
--       REPEATED the stored result, CORRUPT the reason, BUSY nothing
-- EFFECTS states, sessions, sorted sets, directory, operation and one stream entry per account, or
--       nothing for that account. Everything is read and checked before the first write, which is
--       the one that may still fail. If Redis itself refuses to write, the whole call fails.

-- @include epoch
-- @include owner
-- @include directory

local TURN_MS = 50
local call, unpack_at = redis.call, struct.unpack
local batch = ARGV[2]
local now, accounts, at = unpack_at('<dH', batch)

-- The account at hand; the tables are used again for the next one.
local shared_key, expiry_key, tombstones_key, stream_key
local owners, claims, operations, shared_name, shared_state, token, turn
local keys, names, states, stored, fences, sessions = {}, {}, {}, {}, {}, {}

local function fits_fence(packed, expected)
  return expected < 0 or (packed and unpack_at('<d', packed) or 0) == expected
end

local function read_owner(index)
  local key, expected, fence, count, name, state
  key, expected, fence, count, at = unpack_at('<HddH', batch, at)
  name, state, at = unpack_at('<I4c0I4c0', batch, at)
  local list = {}
  for position = 1, count * 4, 4 do
    list[position], list[position + 1], list[position + 2], list[position + 3], at =
      unpack_at('<ddI4c0I4c0', batch, at)
  end
  key = KEYS[key]
  local found = call('HMGET', key, 's', 'p')
  keys[index], names[index], states[index], sessions[index] = key, name, state, list
  stored[index], fences[index] = found[1], found[2]
  local version, credited = stored_totals(found[1])
  if version ~= expected then return false, expected, credited end
  return fits_fence(found[2], fence), expected, credited
end

-- A turn that ends later than any that begins now was taken by a clock that is ahead.
local function is_taken()
  if not turn then return false end
  local holder, until_ms = unpack_at('<dd', turn)
  return holder ~= token and until_ms > now and until_ms <= now + TURN_MS
end

local function check_state(state, expected, credited)
  local version, total = check_owner(state)
  if version ~= expected + 1 then error('owner: version does not follow', 0) end
  if total ~= credited and operations == 0 then
    error('owner: credit changed without operation', 0)
  end
end

local function conflict(shared, fence, wants_turn)
  local reply = { CONFLICT, shared, fence }
  for index = 1, owners do
    reply[#reply + 1] = stored[index]
    reply[#reply + 1] = fences[index]
    local list = sessions[index]
    for position = 3, #list, 4 do
      reply[#reply + 1] = call('HGET', keys[index], list[position])
    end
  end
  if wants_turn then
    call('HSET', shared_key, 't', struct.pack('<dd', token, now + TURN_MS))
  end
  return reply
end

-- Reads the account and decides; returns a reply if it is not to be written.
local function decide()
  local shared_version, shared_fence, signed, written
  local shared_index, expiry_index, tombstones_index, stream_index
  shared_version, shared_fence, signed, shared_index, expiry_index, tombstones_index, stream_index,
    owners, claims, operations, written, at = unpack_at('<dddHHHHHHHH', batch, at)
  shared_key, expiry_key = KEYS[shared_index], KEYS[expiry_index]
  tombstones_key, stream_key = KEYS[tombstones_index], KEYS[stream_index]
  token, shared_state = math.abs(signed), false
  local current, expected, credited = true, {}, {}
  for index = 1, owners do
    local fits
    fits, expected[index], credited[index] = read_owner(index)
    current = current and fits
  end
  local found = call('HMGET', shared_key, 's', 't', 'p')
  turn = found[2]
  -- Only for their types: an index that cannot be written is found out before anything is.
  call('ZCARD', expiry_key)
  call('ZCARD', tombstones_key)
  if written == 1 then shared_name, shared_state, at = unpack_at('<I4c0I4c0', batch, at) end
  local version, shared_credited = stored_totals(found[1])
  current = current and (shared_version < 0 or version == shared_version)
    and fits_fence(found[3], shared_fence)
  local claims_at = at
  for _ = 1, claims do at = select(5, unpack_at('<HdI4c0I4c0', batch, at)) end
  if operations == 1 then
    local done = call('GET', KEYS[unpack_at('<H', batch, at)])
    if done then return { REPEATED, done } end
  end
  if is_taken() then return { BUSY } end
  if not current then return conflict(found[1], found[3], signed < 0) end
  at = claims_at
  for _ = 1, claims do
    local key, _, _, expected_home, next_at = unpack_at('<HdI4c0I4c0', batch, at)
    local home = standing_home(KEYS[key], expected_home)
    if home then return { CLAIMED, home, KEYS[key] } end
    at = next_at
  end
  for index = 1, owners do check_state(states[index], expected[index], credited[index]) end
  if shared_state then check_state(shared_state, version, shared_credited) end
  at = claims_at
end

-- Names what changed; the recorder reads the states themselves, which are absolute. What ends here
-- and will not stand in a state any more is in the record.
local function append_record()
  local position = at
  for _ = 1, claims do position = select(5, unpack_at('<HdI4c0I4c0', batch, position)) end
  if operations == 1 then position = select(4, unpack_at('<HdI4c0', batch, position)) end
  local record = unpack_at('<I4c0', batch, position)
  local entry = {}
  for index = 1, owners do
    local list, fields = sessions[index], {}
    for session = 3, #list, 4 do fields[#fields + 1] = list[session] end
    entry[#entry + 1] = names[index]
    entry[#entry + 1] = table.concat(fields, ' ')
  end
  if shared_state then
    entry[#entry + 1] = shared_name
    entry[#entry + 1] = ''
  end
  if record ~= '' then
    entry[#entry + 1] = 'r'
    entry[#entry + 1] = record
  end
  return call('XADD', stream_key, '*', unpack(entry))
end

local function index_in(key, score, name, field)
  if score == 0 then return end
  local member = name .. ':' .. field
  if score < 0 then return call('ZREM', key, member) end
  call('ZADD', key, string.format('%d', score), member)
end

local function index_sessions()
  for index = 1, owners do
    local list = sessions[index]
    for session = 1, #list, 4 do
      index_in(expiry_key, list[session], names[index], list[session + 2])
      index_in(tombstones_key, list[session + 1], names[index], list[session + 2])
    end
  end
end

-- Nothing here can fail any more: the types of these keys were seen when they were read.
local function write()
  for index = 1, owners do
    local fields, list = { 's', states[index] }, sessions[index]
    for session = 1, #list, 4 do
      fields[#fields + 1] = list[session + 2]
      fields[#fields + 1] = list[session + 3]
    end
    call('HSET', keys[index], unpack(fields))
  end
  if shared_state then call('HSET', shared_key, 's', shared_state) end
  if turn then call('HDEL', shared_key, 't') end
  for _ = 1, claims do
    local key, ttl, home, _, next_at = unpack_at('<HdI4c0I4c0', batch, at)
    call('SET', KEYS[key], home, 'PX', string.format('%d', ttl))
    at = next_at
  end
  if operations == 1 then
    local key, ttl, result = unpack_at('<HdI4c0', batch, at)
    call('SET', KEYS[key], result, 'PX', string.format('%d', ttl))
  end
end

-- What Redis refuses for want of memory or disk is an outage, not damage. Only the first write of a
-- call can meet it, so that nothing has been written when the call fails.
local outage = false
local function corrupt(failure)
  local message = type(failure) == 'table' and failure.err or tostring(failure)
  for _, refusal in ipairs({ 'OOM', 'MISCONF', 'READONLY', 'NOREPLICAS' }) do
    -- Redis 6 puts it behind its place in the script.
    local isOurs = string.find(message, 'user_script: ?%d+: %-' .. refusal)
    if isOurs or string.find(message, '^' .. refusal) then
      outage = string.match(message, refusal .. '.*')
    end
  end
  return { CORRUPT, message }
end

local function process()
  local readable, reply = pcall(decide)
  if not readable then return corrupt(reply) end
  if reply then return reply end
  local appended, failure = pcall(append_record)
  if not appended then return corrupt(failure) end
  index_sessions()
  write()
  return COMMITTED
end

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end

local replies = {}
for index = 1, accounts do
  local length, start = unpack_at('<I4', batch, at)
  at = start
  replies[index] = process()
  if outage then return redis.error_reply(outage) end
  at = start + length
end
return replies
