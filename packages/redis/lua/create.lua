--[[
  Writes a new task, queued. The id makes it idempotent: the first create of an id wins, and its reply is said again.

  KEYS   due, record
  ARGV   status: of a new task; tenant .. capabilities: as they came; prepared: "" when there is none;
         ttlMs, pollIntervalMs, rewakeMs: until the reconciler sends the wake-up again
  Reply  created, createdAt        wake is 1, epoch 0, ver 1
]]
local status, tenant, principal, scopes, method, params, tool, capabilities, prepared, ttlMs, pollIntervalMs, rewakeMs =
  unpack(ARGV, 1, 12)

local task = loadTask()
if task.createdAt then return { "created", task.createdAt } end
if task.expired then return redis.error_reply("ERR the id belongs to a task that has expired") end

-- The first command writes all or, when Redis is full, nothing.
local fields = {
  "status", status, "ver", 1, "createdAt", NOW, "updatedAt", NOW, "ttl", ttlMs, "poll", pollIntervalMs,
  "tenant", tenant, "principal", principal, "scopes", scopes, "method", method, "params", params, "tool", tool,
  "capabilities", capabilities, "epoch", 0, "wake", 1, "queuedAt", NOW, "failures", 0, "crashes", 0,
}
if prepared ~= "" then
  table.insert(fields, "prepared")
  table.insert(fields, prepared)
end
redis.call("HSET", RECORD, unpack(fields))
lookAgain({ expiresAt = NOW + ttlMs }, NOW + rewakeMs)
redis.call("PUBLISH", SHARD .. ":hints:" .. TENANT_REF, TASK_ID .. "|1|" .. status)
return { "created", NOW }
