-- Commits the settled state of accounts, one after the other, unless another commit came first.
--
-- KEYS  [1] epoch of the data, [2] stream of the call, then all other keys, to which the accounts
--       below refer by index
-- ARGV  [1] epoch that the worker expects
--       [2] the packed batch, little endian; (text) is its length as I4, then its bytes:
--       d now (ms), d token of the worker, H accounts; then per account:
--         I4 bytes of this account after this field, H its arguments from [3] on, B kind,
--         d expected version of the shared owner (-1: any), d expected fence of the account's
--         profile (-1: any), H key of the account
--         kind:       255: counts follow. Otherwise there is one owner with one session, and of the
--                     rest only index writes + 4 * registrations + 8 * records
--         counts:     H owners, H ms of the back-off hint to set after a conflict (0: none); then
--                     of what follows the owners: H shared states, H operations (65535: none, but
--                     credit may change), H index writes, H registrations, H records
--         per owner:  d expected profile fence (-1: any), H sessions, (name), (field of the fence)
--         shared:     (name)
--         per operation: H key, (ttl, ms), (result); nothing is written if one was done before
--         per index write: H key of expiry or tombstones, (score, ms; empty: remove), (member)
--         per registration: H key, (ttl, ms), (location), (expected location)
--         record:     (packed record)
--       from [3] on, per account: field of the state and state of each owner, each followed by
--       field and packed session of its sessions; then of the shared owner
--       The version of an owner's state is the version that was read, plus one.
-- REPLY an error EPOCH if the data has another epoch; COMMITTED if every account is committed; or
--       per account: COMMITTED, or { code, ... } as documented in replies.ts:
--       CONFLICT carries the shared state and its fence, then per owner: state, fence, sessions;
--       REGISTERED carries the location and the directory key;
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

local WITH_COUNTS = 255
-- No further account is added to an entry of this size.
local ENTRY_BYTES = 4096
-- Estimated size of an owner or session name in an entry.
local NAME_BYTES = 32
-- The begin of an account that has one owner with one session.
local USUAL = '<I4HBddHdHI4c0I4c0'
local INDEX_WRITE = '<HI4c0I4c0'
local REGISTRATION = '<HI4c0I4c0I4c0'
local call, unpack_at, byte_at, keys, argv = redis.call, struct.unpack, string.byte, KEYS, ARGV

local batch = ARGV[2]
local now, token, accounts, at = unpack_at('<ddH', batch)
-- The current account, and its first state.
local index, state_at, replies, refused = 1, 3, {}, 0
-- Lengths of the lists before it; nil while it has queued nothing.
local entry_mark, bytes_mark, index_writes_mark, values_mark

-- Accounts that are decided but not yet written, from `pending_from` on, and the highest index of
-- their keys: an account that the call does not name before has a higher one. The lists are flat: a
-- table per account would cost more than everything else. Values beyond their lengths are stale.
local pending_from, newest = 1, 0
local entry, entry_length, entry_bytes, entry_ends, record_field = {}, 0, 0, {}, 'r'
-- Per account its key, and its first and last state.
local writes, writes_length = {}, 0
local index_writes, index_writes_length, values, values_length, registered = {}, 0, {}, 0, {}
local used_hints, new_hints, sorted_sets = {}, {}, {}

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
    if conflicting then return position, { REGISTERED, conflicting, key } end
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

local function counts_of(kind)
  return kind % 4, math.floor(kind / 4) % 2, math.floor(kind / 8)
end

-- Queues what follows the owners; returns the reply if the account is refused.
local function queue_rest(position, moved, registrations, records)
  if moved > 0 then position = queue_index_writes(moved, position) end
  if registrations > 0 then
    local refusal
    position, refusal = queue_registrations(registrations, position)
    if refusal then return refusal end
  end
  if records == 1 then queue_record(position) end
end

local function end_entry()
  entry_ends[#entry_ends + 1] = entry_length
  entry_bytes, record_field = 0, 'r'
end

-- Queues the states of the current account and goes to the next one.
local function queue_writes(index_of_key, states, length)
  writes[writes_length + 1], writes[writes_length + 2] = keys[index_of_key], state_at
  state_at = state_at + states
  writes[writes_length + 3] = state_at - 1
  writes_length = writes_length + 3
  newest, index, at, entry_mark = index_of_key, index + 1, at + 4 + length, nil
  if entry_bytes >= ENTRY_BYTES then end_entry() end
end

local function mark_lists()
  entry_mark, bytes_mark = entry_length, entry_bytes
  index_writes_mark, values_mark = index_writes_length, values_length
end

-- @include any_account

local decide_any
local function decide()
  decide_any = decide_any or create_decide()
  return decide_any()
end

-- Decides accounts that have one owner with one session, as most have, with as few steps as
-- possible. Leaves it to `decide` if one is not simply committed.
local function decide_usual()
  repeat
    local length, states, kind, shared_version, shared_fence, index_of_key, fence, _, name,
      fence_field, position = unpack_at(USUAL, batch, at)
    if index_of_key <= newest then return false end
    local key, state = keys[index_of_key], state_at
    local found = call('HMGET', key, argv[state], fence_field, 's:0', 'p:0', 't')
    local stored, shared, format = found[1], found[3], OWNER_FORMAT
    local version, total = check_owner(argv[state + 1])
    local before, credited = 0, 0
    if stored then format, before, credited = unpack_at(OWNER_TOTALS, stored) end
    if version ~= before + 1 or total ~= credited or format ~= OWNER_FORMAT or found[5]
      or ((shared or shared_version > 0) and shared_version >= 0
        and stored_totals(shared) ~= shared_version)
      or ((found[2] or fence > 0) and not fits_fence(found[2], fence))
      or ((found[4] or shared_fence > 0) and not fits_fence(found[4], shared_fence)) then
      return decide()
    end
    if kind > 0 then mark_lists() end
    local slot = entry_length
    entry[slot + 1], entry[slot + 2] = name, argv[state + 2]
    entry_length, entry_bytes = slot + 2, entry_bytes + 2 * NAME_BYTES
    if kind > 0 then
      local refusal = queue_rest(position, counts_of(kind))
      if refusal then return refusal end
      entry_mark = nil
    end
    slot = writes_length
    writes[slot + 1], writes[slot + 2], writes[slot + 3] = key, state, state + 3
    writes_length, state_at = slot + 3, state + 4
    newest, index, at = index_of_key, index + 1, at + 4 + length
    if entry_bytes >= ENTRY_BYTES then end_entry() end
  until index > accounts or byte_at(batch, at + 6) == WITH_COUNTS
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
  for slot = 1, writes_length, 3 do
    local first, last = writes[slot + 1], writes[slot + 2]
    if last == first + 3 then
      call('HSET', writes[slot], argv[first], argv[first + 1], argv[first + 2], argv[last])
    else
      call('HSET', writes[slot], unpack(argv, first, last))
    end
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
  pending_from, newest, registered = index, 0, {}
  entry_length, entry_bytes, entry_ends, record_field = 0, 0, {}, 'r'
  writes_length, index_writes_length, values_length = 0, 0, 0
  used_hints, new_hints = {}, {}
end

local function refuse_current(reply)
  if entry_mark then
    entry_length, entry_bytes = entry_mark, bytes_mark
    index_writes_length, values_length, entry_mark = index_writes_mark, values_mark, nil
  end
  refuse(index, reply)
  local length, states, start = unpack_at('<I4H', batch, at)
  at = start - 2 + length
  state_at = state_at + states
  index = index + 1
end

-- Decides accounts until one must wait for a pending one.
local function decide_all()
  while index <= accounts do
    local is_usual, reply = byte_at(batch, at + 6) ~= WITH_COUNTS, nil
    if is_usual then reply = decide_usual() else reply = decide() end
    if reply then refuse_current(reply) elseif reply == false then return end
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
