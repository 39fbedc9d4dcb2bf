local OWNER_FORMAT = 2
local OWNER_HEADER = '<Bddddd'
-- Format, version and total credit of a stored owner.
local OWNER_TOTALS = '<Bdd'
local OWNER_HEADER_BYTES = 49
local OWNER_AMOUNTS = '<dddddd'
local OWNER_AMOUNTS_BYTES = 48
-- The amounts of an owner with two buckets.
local OWNER_PAIR, OWNER_PAIR_BYTES = '<Bdddddddddddddddddd', 145
local SAFE_INTEGER_MAX = 9007199254740991
local unpack_owner = struct.unpack

local function check_format(format)
  if format ~= OWNER_FORMAT then error('owner: unknown format', 0) end
end

-- Returns the total credit of the buckets. Raises an error that names a damaged bucket.
local function check_buckets(packed, count)
  local sum, at = 0, OWNER_HEADER_BYTES + 1
  for _ = 1, count do
    local id, credited, spent, reserved, available, limit = unpack_owner(OWNER_AMOUNTS, packed, at)
    if spent + reserved + available ~= credited then
      error(string.format('bucket %d: credited is not spent + reserved + free', id), 0)
    end
    if spent < 0 or reserved < 0 or (available < 0 and limit == 0) then
      error(string.format('bucket %d: negative amount', id), 0)
    end
    if credited > SAFE_INTEGER_MAX or spent > SAFE_INTEGER_MAX then
      error(string.format('bucket %d: amount beyond 2^53', id), 0)
    end
    sum = sum + credited
    at = at + OWNER_AMOUNTS_BYTES
  end
  return sum
end

-- Checks a packed owner (layout: owner-packing.ts): the amounts of each bucket, and the total.
-- Returns version and total credit, or raises an error that names the damage. Most owners have two
-- buckets and no limits, which takes one read.
local function check_owner(packed)
  if #packed >= OWNER_PAIR_BYTES then
    local format, version, total, count, owed, repaid, _, _, credited, spent, reserved, available,
      _, _, credited2, spent2, reserved2, available2 = unpack_owner(OWNER_PAIR, packed)
    if count == 2 and format == OWNER_FORMAT and repaid >= 0 and repaid <= owed
      and spent + reserved + available == credited and spent2 + reserved2 + available2 == credited2
      and spent >= 0 and reserved >= 0 and available >= 0 and credited <= SAFE_INTEGER_MAX
      and spent2 >= 0 and reserved2 >= 0 and available2 >= 0 and credited2 <= SAFE_INTEGER_MAX
      and credited + credited2 == total then
      return version, total
    end
  end
  local format, version, total, count, owed, repaid = unpack_owner(OWNER_HEADER, packed)
  check_format(format)
  if repaid < 0 or repaid > owed then error('owner: repaid more than owed', 0) end
  if check_buckets(packed, count) ~= total then
    error('owner: total is not the sum of its buckets', 0)
  end
  return version, total
end

-- Returns version and total credit of a stored owner; 0 and 0 for a new one.
local function stored_totals(packed)
  if not packed then return 0, 0 end
  local format, version, total = unpack_owner(OWNER_TOTALS, packed)
  check_format(format)
  return version, total
end

-- Whether a packed profile fence has the expected number (-1: any).
local function fits_fence(packed, expected)
  return expected < 0 or (packed and unpack_owner('<d', packed) or 0) == expected
end
