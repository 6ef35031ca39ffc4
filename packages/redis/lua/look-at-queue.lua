--[[
  Tells an operator how much work a shard has. It changes nothing.

  KEYS   open, queued, running: of the shard
  ARGV   none
  Reply  looked, open, queued, queuedForMs, running, runningForMs     for: of the one that waits or runs the longest
]]
local open, queued, running = unpack(KEYS)

local function longest(zset)
  local since = redis.call("ZRANGE", zset, 0, 0, "WITHSCORES")[2]
  return since and math.max(0, NOW - since) or 0
end

return {
  "looked",
  tonumber(redis.call("GET", open) or 0),
  redis.call("ZCARD", queued), longest(queued),
  redis.call("ZCARD", running), longest(running),
}
