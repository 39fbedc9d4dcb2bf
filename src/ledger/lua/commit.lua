-- Commits the settled state of accounts, one after the other, unless another commit came first.
--
-- KEYS  [1] epoch of the data, [2] stream of the call, then all other keys, to which the accounts
--       below refer by index
-- ARGV  [1] epoch that the worker expects
--       [2] the packed batch, little endian; (text) is its length as I4, then its bytes:
--       d now (ms), d token of the worker, H accounts; then per account:
--         I4 bytes of this account after this field, B kind (0: one owner with one session and no
--         further counts; 1: no further counts; 2: further counts follow),
--         d expected version of the shared owner (-1: any), d expected fence of the account's
--         profile (-1: any), H key of the account, H owners
--         further counts: H ms of the back-off hint to set after a conflict (0: none); then the
--                     counts of what follows the owners: H shared states, H operations (65535:
--                     none, but credit may change), H index writes, H registrations, H records
--         per owner:  d expected profile fence (-1: any), H sessions, (name), (field of the
--                     state), (field of the fence), (state);
--                     per session: (field), (packed session)
--         shared:     (name), (state)
--         per operation: H key, (ttl, ms), (result); nothing is written if one was done before
--         per index write: H key of expiry or tombstones, (score, ms; empty: remove), (member)
--         per registration: H key, (ttl, ms), (location), (expected location)
--         record:     (packed record)
--       The version of an owner's state is the version that was read, plus one.
-- REPLY an error EPOCH if the data has another epoch; COMMITTED if every account is committed; or
--       per account: COMMITTED, or { code, ... } as documented in replies.ts:
--       CONFLICT carries the shared state and its fence, then per owner: state, fence, sessions;
--       CLAIMED carries the location and the directory key;
--       REPEATED the stored result, CORRUPT and UNWRITTEN the reason, BUSY nothing
-- EFFECTS states, sessions, sorted sets, directory and operation of an account and its part of a
--       stream entry; or nothing for that account, except the requested back-off hint after a
--       conflict. Everything is read and checked before the first write, which is the only one that
--       can fail; an account that occurs twice in a call is decided again after the others are
--       written. If Redis itself refuses to write, the whole call fails.

-- @include epoch
-- @include owner
-- @include directory
-- @include failure

local BACKOFF_MS_MAX, CREDITED = 1600, 65535
-- No further account is added to an entry of this size.
local ENTRY_BYTES = 4096
-- Estimated size of an owner or session name in an entry.
local NAME_BYTES = 32
local ACCOUNT = '<I4BddHH'
local MORE = '<HHHHHH'
local OWNER = '<dHI4c0I4c0I4c0I4c0'
local SESSION = '<I4c0I4c0'
-- An account of kind 0 as a whole.
local USUAL = '<I4BddHHdHI4c0I4c0I4c0I4c0I4c0I4c0'
local SHARED = '<I4c0I4c0'
local OPERATION = '<HI4c0I4c0'
local INDEX_WRITE = '<HI4c0I4c0'
local REGISTRATION = '<HI4c0I4c0I4c0'
local call, unpack_at, byte_at, keys = redis.call, struct.unpack, string.byte, KEYS

local batch = ARGV[2]
local now, token, accounts, at = unpack_at('<ddH', batch)
local index, replies, refused = 1, {}, 0

-- Accounts that are decided but not yet written, from `pending_from` on. The lists are flat: a
-- table per account would cost more than everything else. Values beyond their lengths are stale.
local pending_from, pending = 1, {}
local entry, entry_length, entry_bytes, entry_ends, record_field = {}, 0, 0, {}, 'r'
local states, states_length, account_ends, accounts_length = {}, 0, {}, 0
local index_writes, index_writes_length, values, values_length, registered = {}, 0, {}, 0, {}
local used_hints, new_hints, sorted_sets = {}, {}, {}
-- Arguments of the read of an account, and the states and fences that it is compared with.
local reading, expected = { '', 's:0', 'p:0', 't' }, {}

-- A hint that ends later than the longest one set now comes from a clock that is ahead.
local function is_busy(hint)
  if not hint then return false end
  local holder, until_ms = unpack_at('<dd', hint)
  return holder ~= token and until_ms > now and until_ms <= now + BACKOFF_MS_MAX
end

-- Reads the current state of the account with its sessions.
local function conflict(position, owners, key, hint_ms)
  local fields = { 's:0', 'p:0' }
  for _ = 1, owners do
    local _, count, _, state_field, fence_field, _, sessions_at =
      unpack_at(OWNER, batch, position)
    fields[#fields + 1], fields[#fields + 2] = state_field, fence_field
    position = sessions_at
    for _ = 1, count do
      fields[#fields + 1], _, position = unpack_at(SESSION, batch, position)
    end
  end
  local found = call('HMGET', key, unpack(fields))
  local reply = { CONFLICT }
  for field = 1, #fields do reply[field + 1] = found[field] end
  if hint_ms > 0 then new_hints[key] = hint_ms end
  return reply
end

-- Whether a state directly succeeds the stored one.
local function succeeds(state, stored, operations)
  local version, total = check_owner(state)
  local before, credited = stored_totals(stored)
  if version ~= before + 1 then return false end
  if total ~= credited and operations == 0 then
    error('owner: credit changed without operation', 0)
  end
  return true
end

-- Queues the sessions of an owner; returns their fields and the end position.
local function queue_sessions(count, position)
  if count == 0 then return '', position end
  local first = states_length + 1
  for slot = first, first + 2 * count - 2, 2 do
    states[slot], states[slot + 1], position = unpack_at(SESSION, batch, position)
  end
  states_length = states_length + 2 * count
  if count == 1 then return states[first], position end
  local fields = {}
  for session = 1, count do fields[session] = states[first + 2 * session - 2] end
  return table.concat(fields, ' '), position
end

local function queue_owner(name, field, state, sessions, position)
  states[states_length + 1], states[states_length + 2] = field, state
  states_length = states_length + 2
  local fields
  fields, position = queue_sessions(sessions, position)
  entry[entry_length + 1], entry[entry_length + 2] = name, fields
  entry_length = entry_length + 2
  entry_bytes = entry_bytes + NAME_BYTES * (1 + sessions)
  return position
end

-- Queues the owners of an account. Returns what is stored of the account, and the end position.
local function read_account(key, owners, position)
  reading[1] = key
  local slot = 4
  for _ = 1, owners do
    local name, state, fence, sessions
    fence, sessions, name, reading[slot + 1], reading[slot + 2], state, position =
      unpack_at(OWNER, batch, position)
    expected[slot], expected[slot + 1] = state, fence
    position = queue_owner(name, reading[slot + 1], state, sessions, position)
    slot = slot + 2
  end
  return call('HMGET', unpack(reading, 1, slot)), position
end

-- Redis would refuse any other time to live between the writes; more than 15 digits are no time.
local function queue_value(key, value, ttl)
  if #ttl > 15 or not string.find(ttl, '^[1-9]%d*$') then error('time to live is damaged', 0) end
  local length = values_length + 3
  values[length - 2], values[length - 1], values[length] = key, value, ttl
  values_length = length
end

-- Raises an error if a key is not a sorted set or a score is not a number, before anything is
-- written.
local function queue_index_writes(count, position)
  for _ = 1, count do
    local key, length = nil, index_writes_length + 3
    local score
    key, score, index_writes[length], position = unpack_at(INDEX_WRITE, batch, position)
    if score ~= '' then
      local number = tonumber(score)
      -- Only NaN differs from itself.
      if not number or number ~= number then error('score of a sorted set is damaged', 0) end
    end
    index_writes[length - 1] = score
    if not sorted_sets[key] then
      call('ZCARD', keys[key])
      sorted_sets[key] = true
    end
    index_writes[length - 2] = keys[key]
    index_writes_length = length
  end
  return position
end

-- Returns the end position, or the reply if a registration is refused. A session that was
-- registered earlier in this call counts as registered there.
local function queue_registrations(count, position)
  for _ = 1, count do
    local key, ttl, location, expected, next_at = unpack_at(REGISTRATION, batch, position)
    key = keys[key]
    local earlier, conflicting = registered[key], nil
    if earlier and earlier <= values_length and values[earlier] == key then
      conflicting = values[earlier + 1] ~= expected and values[earlier + 1]
    else
      conflicting = conflicting_location(key, expected)
    end
    if conflicting then return position, { CLAIMED, conflicting, key } end
    registered[key] = values_length + 1
    queue_value(key, location, ttl)
    position = next_at
  end
  return position
end

local function queue_record(position)
  local record = unpack_at('<I4c0', batch, position)
  entry[entry_length + 1], entry[entry_length + 2] = record_field, record
  entry_bytes = entry_bytes + #record
  entry_length = entry_length + 2
  record_field = 'r+'
end

-- Decides the account at `at`. Returns the reply if it is refused, false if the same account is
-- pending and must be written first.
local function decide()
  local length, kind, shared_version, shared_fence, index_of_key, owners, owners_at =
    unpack_at(ACCOUNT, batch, at)
  local key = keys[index_of_key]
  if pending[key] then return false end
  local hint_ms, shared_states, operations, moved, registrations, records = 0, 0, 0, 0, 0, 0
  if kind == 2 then
    hint_ms, shared_states, operations, moved, registrations, records, owners_at =
      unpack_at(MORE, batch, owners_at)
  end
  states_length = states_length + 1
  states[states_length] = key
  local found, position = read_account(key, owners, owners_at)
  local shared, hint = found[1], found[3]
  local is_current = (shared_version < 0 or stored_totals(shared) == shared_version)
    and fits_fence(found[2], shared_fence)
  for slot = 4, 2 + 2 * owners, 2 do
    is_current = succeeds(expected[slot], found[slot], operations)
      and fits_fence(found[slot + 1], expected[slot + 1]) and is_current
  end
  if shared_states == 1 then
    local name, state
    name, state, position = unpack_at(SHARED, batch, position)
    is_current = succeeds(state, shared, operations) and is_current
    queue_owner(name, 's:0', state, 0)
  end
  for _ = 1, operations == CREDITED and 0 or operations do
    local result_key, ttl, result
    result_key, ttl, result, position = unpack_at(OPERATION, batch, position)
    local done = call('GET', keys[result_key])
    if done then return { REPEATED, done } end
    queue_value(keys[result_key], result, ttl)
  end
  if is_busy(hint) then return { BUSY } end
  if not is_current then return conflict(owners_at, owners, key, hint_ms) end
  if moved > 0 then position = queue_index_writes(moved, position) end
  if registrations > 0 then
    local refusal
    position, refusal = queue_registrations(registrations, position)
    if refusal then return refusal end
  end
  if records == 1 then queue_record(position) end
  accounts_length = accounts_length + 1
  account_ends[accounts_length] = states_length
  pending[key] = true
  if hint then used_hints[#used_hints + 1] = key end
  at = at + 4 + length
end

-- Decides an account of kind 0, as most are: with as few calls as possible. Leaves it to `decide`
-- if it is not simply committed.
local function decide_usual()
  local length, _, shared_version, shared_fence, key, _, fence, _, name, state_field, fence_field,
    state, session_field, session = unpack_at(USUAL, batch, at)
  key = keys[key]
  if pending[key] then return false end
  local found = call('HMGET', key, state_field, fence_field, 's:0', 'p:0', 't')
  local stored, shared = found[1], found[3]
  local version, total = check_owner(state)
  local before, credited = 0, 0
  if stored then before, credited = stored_totals(stored) end
  if version ~= before + 1 or total ~= credited or found[5]
    or (shared_version >= 0 and stored_totals(shared) ~= shared_version)
    or not fits_fence(found[2], fence) or not fits_fence(found[4], shared_fence) then
    return decide()
  end
  local slot = states_length
  states[slot + 1], states[slot + 2], states[slot + 3] = key, state_field, state
  states[slot + 4], states[slot + 5] = session_field, session
  states_length = slot + 5
  entry[entry_length + 1], entry[entry_length + 2] = name, session_field
  entry_length = entry_length + 2
  entry_bytes = entry_bytes + 2 * NAME_BYTES
  accounts_length = accounts_length + 1
  account_ends[accounts_length] = states_length
  pending[key] = true
  at = at + 4 + length
end

-- An entry names the changed owners and sessions; the recorder reads their states, which are
-- absolute. Data that ends with this commit and is in no state any more is in the record.
local function append()
  if entry_bytes > 0 then entry_ends[#entry_ends + 1] = entry_length end
  local first = 1
  for _, last in ipairs(entry_ends) do
    call('XADD', KEYS[2], '*', unpack(entry, first, last))
    first = last + 1
  end
end

-- Nothing here can fail: types of keys, scores and times have been checked. A back-off hint is
-- optional, and a Redis that is out of memory may refuse it.
local function write()
  local first = 1
  for account = 1, accounts_length do
    call('HSET', unpack(states, first, account_ends[account]))
    first = account_ends[account] + 1
  end
  for slot = 1, index_writes_length, 3 do
    local key, score = index_writes[slot], index_writes[slot + 1]
    local member = index_writes[slot + 2]
    if score == '' then call('ZREM', key, member) else call('ZADD', key, score, member) end
  end
  for slot = 1, values_length, 3 do
    call('SET', values[slot], values[slot + 1], 'PX', values[slot + 2])
  end
  for key, hint_ms in pairs(new_hints) do
    redis.pcall('HSET', key, 't', struct.pack('<dd', token, now + hint_ms))
  end
  for _, key in ipairs(used_hints) do call('HDEL', key, 't') end
end

local function refuse(account, reply)
  replies[account] = reply
  refused = refused + 1
end

-- Writes the pending accounts. Returns the error if Redis refuses.
local function write_pending()
  local appended, failure = pcall(append)
  if appended then
    write()
  else
    local message = message_of(failure)
    local outage = outage_in(message)
    if outage then return redis.error_reply(outage) end
    for account = pending_from, index - 1 do
      if not replies[account] then refuse(account, { UNWRITTEN, message }) end
    end
  end
  pending_from, pending, registered = index, {}, {}
  entry_length, entry_bytes, entry_ends, record_field = 0, 0, {}, 'r'
  states_length, accounts_length, index_writes_length, values_length = 0, 0, 0, 0
  used_hints, new_hints = {}, {}
end

-- Lengths of the lists before the current account.
local entry_mark, bytes_mark, states_mark, index_writes_mark, values_mark

local function discard_current()
  entry_length, entry_bytes = entry_mark, bytes_mark
  states_length = states_mark
  index_writes_length, values_length = index_writes_mark, values_mark
end

local function refuse_current(reply)
  discard_current()
  refuse(index, reply)
  local length, start = unpack_at('<I4', batch, at)
  at = start + length
  index = index + 1
end

-- Decides accounts until one must wait for a pending one.
local function decide_all()
  while index <= accounts do
    entry_mark, bytes_mark, states_mark = entry_length, entry_bytes, states_length
    index_writes_mark, values_mark = index_writes_length, values_length
    local reply
    if byte_at(batch, at + 4) == 0 then reply = decide_usual() else reply = decide() end
    if reply == false then return end
    if reply then
      refuse_current(reply)
    else
      if entry_bytes >= ENTRY_BYTES then
        entry_ends[#entry_ends + 1] = entry_length
        entry_bytes, record_field = 0, 'r'
      end
      index = index + 1
    end
  end
end

local stale = epoch_error(KEYS[1], ARGV[1])
if stale then return stale end

while index <= accounts do
  local readable, failure = pcall(decide_all)
  if not readable then
    local message = message_of(failure)
    local outage = outage_in(message)
    if outage then return redis.error_reply(outage) end
    refuse_current({ CORRUPT, message })
  end
  if readable or index > accounts then
    local failure_reply = write_pending()
    if failure_reply then return failure_reply end
  end
end
if refused == 0 then return COMMITTED end
for account = 1, accounts do replies[account] = replies[account] or COMMITTED end
return replies
