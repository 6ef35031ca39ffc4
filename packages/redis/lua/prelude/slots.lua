--[[
  What a tenant has at once: how many of its tasks are open, queued and running, and which wait for one of its slots.
]]
-- Counts the tenant's tasks: open until their end, queued while they may run, running while a worker holds them. The shard
-- has the same for an operator to see: how many are open, and which are queued and running since when.
local function count(field, by)
  local now = redis.call("HINCRBY", COUNTS, field, by)
  if field == "open" then
    redis.call("INCRBY", SHARD .. ":open", by)
  elseif by > 0 then
    redis.call("ZADD", SHARD .. ":" .. field, NOW, TENANT_REF .. ":" .. TASK_ID)
  else
    redis.call("ZREM", SHARD .. ":" .. field, TENANT_REF .. ":" .. TASK_ID)
  end
  if now <= 0 then redis.call("HDEL", COUNTS, field) end
  return now
end

-- Ends the lease where there is one. The tenant's slot is free: the first task that waits for one is looked at now.
local function endLease(task)
  if not task.claim then return end
  redis.call("HDEL", RECORD, "claim", "leaseEnd")
  count("running", -1)
  local waiting = redis.call("ZPOPMIN", WAITING)[1]
  if waiting then redis.call("ZADD", DUE, "XX", NOW, TENANT_REF .. ":" .. waiting) end
end
