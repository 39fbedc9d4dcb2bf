-- Part of commit.lua: accounts of any kind, also those that are refused.

-- Returns the function that decides one. Its parts are only created when it is needed: a call has
-- hardly any such account, and creating them costs as much as deciding one.
local function create_decide()
  local ACCOUNT = '<I4HBddH'
  local COUNTS = '<HHHHHHH'
  local OWNER = '<dHI4c0I4c0'
  local SHARED = '<I4c0'
  local OPERATION = '<HI4c0I4c0'
  local BACKOFF_MS_MAX, CREDITED = 1600, 65535
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
    local fields, state = { 's:0', 'p:0' }, state_at
    for _ = 1, owners do
      local _, sessions, _, fence_field, next_at = unpack_at(OWNER, batch, position)
      fields[#fields + 1], fields[#fields + 2] = argv[state], fence_field
      for session = 1, sessions do fields[#fields + 1] = argv[state + 2 * session] end
      state, position = state + 2 + 2 * sessions, next_at
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

  -- Names an owner and its sessions in the entry; returns the first state after theirs.
  local function queue_owner(name, sessions, state)
    local fields = ''
    if sessions == 1 then
      fields = argv[state + 2]
    elseif sessions > 1 then
      local list = {}
      for session = 1, sessions do list[session] = argv[state + 2 * session] end
      fields = table.concat(list, ' ')
    end
    entry[entry_length + 1], entry[entry_length + 2] = name, fields
    entry_length = entry_length + 2
    entry_bytes = entry_bytes + NAME_BYTES * (1 + sessions)
    return state + 2 + 2 * sessions
  end

  -- Queues the owners of an account. Returns what is stored of the account, the end position and
  -- the first state after theirs.
  local function read_account(key, owners, position)
    reading[1] = key
    local slot, state = 4, state_at
    for _ = 1, owners do
      local name, fence, sessions
      fence, sessions, name, reading[slot + 2], position = unpack_at(OWNER, batch, position)
      reading[slot + 1] = argv[state]
      expected[slot], expected[slot + 1] = argv[state + 1], fence
      state = queue_owner(name, sessions, state)
      slot = slot + 2
    end
    return call('HMGET', unpack(reading, 1, slot)), position, state
  end

  -- Decides the account at `at`. Returns the reply if it is refused, false if the same account is
  -- pending and must be written first.
  local function decide()
    local length, states, kind, shared_version, shared_fence, index_of_key, position =
      unpack_at(ACCOUNT, batch, at)
    if index_of_key <= newest then return false end
    mark_lists()
    local key = keys[index_of_key]
    local owners, hint_ms, shared_states, operations = 1, 0, 0, 0
    local moved, registrations, records = counts_of(kind)
    if kind == WITH_COUNTS then
      owners, hint_ms, shared_states, operations, moved, registrations, records, position =
        unpack_at(COUNTS, batch, position)
    end
    local owners_at = position
    local found, state
    found, position, state = read_account(key, owners, owners_at)
    local shared, hint = found[1], found[3]
    local is_current = (shared_version < 0 or stored_totals(shared) == shared_version)
      and fits_fence(found[2], shared_fence)
    for slot = 4, 2 + 2 * owners, 2 do
      is_current = succeeds(expected[slot], found[slot], operations)
        and fits_fence(found[slot + 1], expected[slot + 1]) and is_current
    end
    if shared_states == 1 then
      local name
      name, position = unpack_at(SHARED, batch, position)
      is_current = succeeds(argv[state + 1], shared, operations) and is_current
      queue_owner(name, 0, state)
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
    local refusal = queue_rest(position, moved, registrations, records)
    if refusal then return refusal end
    queue_writes(index_of_key, states, length)
    if hint then used_hints[#used_hints + 1] = key end
  end

  return decide
end
