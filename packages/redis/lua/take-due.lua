--[[
  Takes what must be looked at now, and puts it ahead by the hold: a taken task is not given to another reconciler for
  that long, and comes back by itself when its taker dies. It has no operation id: when its reply is lost the tasks are
  looked at after the hold. It goes on when Redis is full.

  KEYS   due
  ARGV   limit, holdMs
  Reply  taken, {<tenantRef>:<taskId>, ...}, now
]]
local limit, holdMs = unpack(ARGV, 1, 2)

local members = redis.call("ZRANGE", DUE, "-inf", NOW, "BYSCORE", "LIMIT", 0, limit)
if #members > 0 then evenWhenFull() end
for _, member in ipairs(members) do
  redis.call("ZADD", DUE, "XX", NOW + holdMs, member)
end
return { "taken", members, NOW }
