--[[
  Writes a new task, queued. The id makes it idempotent: the first create of an id wins, and its reply is said again.
  So does a client's idempotency key, for as long as the task it made is kept. Nobody is told by a hint: nobody can listen
  to an id that has not been given out.

  KEYS   due, record, counts, waiting; sameAs: the idempotency key's, none when digest is ""
  ARGV   status: of a new task; tenant .. capabilities: as they came; prepared: "" when there is none;
         ttlMs, pollIntervalMs, rewakeMs: until the reconciler sends the wake-up again;
         maxOpen: tasks that have not ended, of one tenant, 0 for any number; digest: of what is asked under the key
  Reply  created, createdAt, depth     wake is 1, epoch 0, ver 1
         existing, taskId              the same was asked under the key before
         conflict                      something else was
         limited                       the tenant has maxOpen tasks
]]
local status, tenant, principal, scopes, method, params, tool, capabilities, prepared, ttlMs, pollIntervalMs, rewakeMs, maxOpen, digest =
  unpack(ARGV, 1, 14)

local createdAt, expired = unpack(redis.call("HMGET", RECORD, "createdAt", "expired"))
if createdAt then
  local queued = tonumber(redis.call("HGET", COUNTS, "queued") or 0)
  return { "created", tonumber(createdAt), math.max(queued, 1) }
end
if expired then return redis.error_reply("ERR the id belongs to a task that has expired") end

local before = digest ~= "" and redis.call("GET", KEYS[5])
if before then
  local taskId, asked = string.match(before, "^(%S+) (.*)$")
  if asked ~= digest then return { "conflict" } end
  return { "existing", taskId }
end
local limit = tonumber(maxOpen)
if limit > 0 and tonumber(redis.call("HGET", COUNTS, "open") or 0) >= limit then return { "limited" } end

-- The first command writes all or, when Redis is full, nothing. Texts, for of each number Redis makes one by printf.
local now = string.format("%.0f", NOW)
local fields = {
  "status", status, "ver", "1", "createdAt", now, "updatedAt", now, "ttl", ttlMs, "poll", pollIntervalMs,
  "tenant", tenant, "principal", principal, "scopes", scopes, "method", method, "params", params, "tool", tool,
  "capabilities", capabilities, "epoch", "0", "wake", "1", "queuedAt", now, "failures", "0", "crashes", "0",
}
if prepared ~= "" then
  table.insert(fields, "prepared")
  table.insert(fields, prepared)
end
if digest ~= "" then
  table.insert(fields, "sameAs")
  table.insert(fields, KEYS[5])
end
redis.call("HSET", RECORD, unpack(fields))
if digest ~= "" then redis.call("SET", KEYS[5], TASK_ID .. " " .. digest) end
count("open", 1)
lookAgain({ expiresAt = NOW + ttlMs }, NOW + rewakeMs)
return { "created", NOW, count("queued", 1) }
