-- A refusal for lack of memory or disk is an outage, not damage. Only the first write of a call can
-- be refused, so nothing has been written when the call fails.
local function outage_in(message)
  for _, refusal in ipairs({ 'OOM', 'MISCONF', 'READONLY', 'NOREPLICAS' }) do
    -- Redis 6 puts the position in the script before the error.
    local is_script_error = string.find(message, 'user_script: ?%d+: %-' .. refusal)
    if is_script_error or string.find(message, '^' .. refusal) then
      return string.match(message, refusal .. '.*')
    end
  end
end

local function message_of(failure)
  return type(failure) == 'table' and failure.err or tostring(failure)
end
