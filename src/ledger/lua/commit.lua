-- Writes what workers have settled, account by account, if nobody else has committed meanwhile.
--
-- KEYS  every key that the accounts below name by its index
-- ARGV  [1] now (ms), number of accounts: '<dd'
--       then per account, starting with its header '<dddddddddddd':
--         arguments of this account beside the header,
--         index of the shared owner's key, its expected version (-1: any), 1 if it is written,
--         indexes of the keys of expiry, tombstones and stream,
--         owners, sessions, claims, operations (0 or 1),
--         token of the worker's turn; negative if it wants the turn upon a conflict
--       per owner      '<dddd' key index, expected version, expected profile fence (-1: any),
--                      sessions to report upon a conflict; its state; those sessions' fields
--       shared owner   its state, if it is written
--       per session    '<ddd' key index, expiry (0: as it is, -1: none), end of tombstone
--       (likewise);
--                      field; member of the sorted sets; packed session ('' deletes)
--       per claim      '<dd' key index, ttl (ms); home; expected home
--       operation      '<dd' key index, ttl (ms); result
--       always         names of the owners written, separated by spaces; packed stream record
-- REPLY per account: COMMITTED, or { code, … } as replies.ts says;
--       CONFLICT carries shared state, then per owner: state, fence, its reported sessions;
--       CLAIMED carries the home and the directory key
-- EFFECTS states, sessions, sorted sets, directory, operation and one stream entry per account, or
--       nothing for that account. Everything is read and checked before the first write, and the
--       two writes that could fail on a key of another type come first and are undone.

-- @include owner
-- @include directory

local now, accounts = struct.unpack('<dd', ARGV[1])
local at = 2
local TURN_MS = 50

local function read_header()
  local h = { struct.unpack('<dddddddddddd', ARGV[at]) }
  return {
    args = h[1], shared = h[2], shared_version = h[3], shared_write = h[4] == 1,
    expiry = KEYS[h[5]], tombstones = KEYS[h[6]], stream = KEYS[h[7]],
    owners = h[8], sessions = h[9], claims = h[10], operations = h[11],
    token = math.abs(h[12]), wants_turn = h[12] < 0,
  }
end

local function read_owners(account)
  local owners = {}
  for index = 1, account.owners do
    local key, version, fence, reported = struct.unpack('<dddd', ARGV[at])
    local stored = redis.call('HMGET', KEYS[key], 's', 'p')
    local fields = {}
    for offset = 1, reported do fields[offset] = ARGV[at + 1 + offset] end
    owners[index] = {
      key = KEYS[key], expected = version, fence_expected = fence, state = ARGV[at + 1],
      stored = stored[1], fence = stored[2], fields = fields,
    }
    at = at + 2 + reported
  end
  return owners
end

local function version_of(stored)
  if not stored then return 0 end
  return struct.unpack('<d', stored, 2)
end

local function is_current(owner)
  if version_of(owner.stored) ~= owner.expected then return false end
  if owner.fence_expected < 0 then return true end
  local fence = owner.fence and struct.unpack('<d', owner.fence) or 0
  return fence == owner.fence_expected
end

local function conflict(account, owners, shared)
  local reply = { CONFLICT, shared }
  for _, owner in ipairs(owners) do
    reply[#reply + 1] = owner.stored
    reply[#reply + 1] = owner.fence
    if #owner.fields > 0 then
      for _, blob in ipairs(redis.call('HMGET', owner.key, unpack(owner.fields))) do
        reply[#reply + 1] = blob
      end
    end
  end
  if account.wants_turn then
    redis.call('HSET', KEYS[account.shared], 't', struct.pack('<dd', account.token, now + TURN_MS))
  end
  return reply
end

local function check_state(state, stored, expected, may_credit)
  local version, credited = check_owner(state)
  if version ~= expected + 1 then error('owner: version does not follow', 0) end
  local before = 0
  if stored then
    local _
    _, before = check_owner(stored)
  end
  if credited ~= before and not may_credit then error('owner: credit changed without operation', 0) end
end

-- Reads the rest of the account's arguments and decides; returns what is to be written, or a reply.
local function decide(account)
  local owners = read_owners(account)
  local shared, turn = unpack(redis.call('HMGET', KEYS[account.shared], 's', 't'))
  local shared_state
  if account.shared_write then
    shared_state = ARGV[at]
    at = at + 1
  end
  local work = { owners = owners, shared_state = shared_state, turn = turn }
  work.sessions = at
  work.claims = work.sessions + account.sessions * 4
  work.operation = work.claims + account.claims * 3
  work.record = work.operation + account.operations * 2
  if account.operations == 1 then
    local done = redis.call('GET', KEYS[struct.unpack('<d', ARGV[work.operation])])
    if done then return nil, { REPEATED, done } end
  end
  if turn then
    local token, until_ms = struct.unpack('<dd', turn)
    if token ~= account.token and until_ms > now then return nil, { BUSY } end
  end
  local current = account.shared_version < 0 or version_of(shared) == account.shared_version
  for _, owner in ipairs(owners) do current = current and is_current(owner) end
  if not current then return nil, conflict(account, owners, shared) end
  for claim = work.claims, work.operation - 1, 3 do
    local key = KEYS[struct.unpack('<d', ARGV[claim])]
    local home = standing_home(key, ARGV[claim + 2])
    if home then return nil, { CLAIMED, home, key } end
  end
  local may_credit = account.operations == 1
  for _, owner in ipairs(owners) do
    check_state(owner.state, owner.stored, owner.expected, may_credit)
  end
  if shared_state then check_state(shared_state, shared, account.shared_version, may_credit) end
  return work
end

local function append_record(account, work)
  local entry = { 'r', ARGV[work.record + 1] }
  local position = 1
  for name in string.gmatch(ARGV[work.record], '%S+') do
    entry[#entry + 1] = name
    local owner = work.owners[position]
    entry[#entry + 1] = owner and owner.state or work.shared_state
    position = position + 1
  end
  return redis.call('XADD', account.stream, '*', unpack(entry))
end

local function index_sessions(account, work)
  for session = work.sessions, work.claims - 1, 4 do
    local _, expiry, tombstone = struct.unpack('<ddd', ARGV[session])
    local member = ARGV[session + 2]
    if expiry > 0 then redis.call('ZADD', account.expiry, string.format('%d', expiry), member) end
    if expiry < 0 then redis.call('ZREM', account.expiry, member) end
    if tombstone > 0 then
      redis.call('ZADD', account.tombstones, string.format('%d', tombstone), member)
    end
    if tombstone < 0 then redis.call('ZREM', account.tombstones, member) end
  end
end

-- Nothing here can fail any more: the types of these keys were seen when they were read.
local function write(account, work)
  for _, owner in ipairs(work.owners) do redis.call('HSET', owner.key, 's', owner.state) end
  if work.shared_state then redis.call('HSET', KEYS[account.shared], 's', work.shared_state) end
  if work.turn then redis.call('HDEL', KEYS[account.shared], 't') end
  for session = work.sessions, work.claims - 1, 4 do
    local key = KEYS[struct.unpack('<d', ARGV[session])]
    if ARGV[session + 3] == '' then
      redis.call('HDEL', key, ARGV[session + 1])
    else
      redis.call('HSET', key, ARGV[session + 1], ARGV[session + 3])
    end
  end
  for claim = work.claims, work.operation - 1, 3 do
    local key, ttl = struct.unpack('<dd', ARGV[claim])
    redis.call('SET', KEYS[key], ARGV[claim + 1], 'PX', string.format('%d', ttl))
  end
  if account.operations == 1 then
    local key, ttl = struct.unpack('<dd', ARGV[work.operation])
    redis.call('SET', KEYS[key], ARGV[work.operation + 1], 'PX', string.format('%d', ttl))
  end
end

local function message_of(failure)
  if type(failure) == 'table' then return failure.err or 'unknown' end
  return tostring(failure)
end

local function process(account)
  local readable, work, reply = pcall(decide, account)
  if not readable then return { CORRUPT, message_of(work) } end
  if reply then return reply end
  local appended, id = pcall(append_record, account, work)
  if not appended then return { CORRUPT, message_of(id) } end
  local indexed, failure = pcall(index_sessions, account, work)
  if not indexed then
    redis.call('XDEL', account.stream, id)
    return { CORRUPT, message_of(failure) }
  end
  write(account, work)
  return COMMITTED
end

local replies = {}
for index = 1, accounts do
  local account = read_header()
  local next_account = at + 1 + account.args
  at = at + 1
  replies[index] = process(account)
  at = next_account
end
return replies
