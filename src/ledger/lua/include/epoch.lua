-- An error reply if the data is not what the caller takes it for: lost, or rebuilt since.
local function epoch_error(key, known)
  local epoch = redis.call('GET', key)
  if epoch == known then return nil end
  return redis.error_reply('EPOCH ' .. (epoch or 'lost'))
end
