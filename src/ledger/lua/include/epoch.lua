-- Returns an error reply if the data does not have the caller's epoch: it is lost or was rebuilt.
local function epoch_error(key, expected)
  local epoch = redis.call('GET', key)
  if epoch == expected then return nil end
  return redis.error_reply('EPOCH ' .. (epoch or 'lost'))
end
