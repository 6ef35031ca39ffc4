--[[
  Fails a task that is past its ttl; removes one whose keeping time is over, and leaves a tombstone for its owner.
  So a task fails before it goes, and readers can see that for the retention at least. It goes on when Redis is full.

  KEYS   due, record, counts, waiting
  ARGV   op; from, to: of the move `expire`; error, message: of one that fails; retentionMs, tombstoneMs
  Reply  failed | removed | later | gone
]]
local op, from, to, error, message, retentionMs, tombstoneMs = unpack(ARGV, 1, 7)
local member = TENANT_REF .. ":" .. TASK_ID

local task = loadTask()
if not task.status then
  redis.call("ZREM", DUE, member)
  return { "gone" }
end
local reply = remembered(task, op)
if reply then return reply end

-- It stays due as it is: only `rouse` knows what comes first, the end of a lease or of the ttl.
if NOW < (task.removeAt or task.expiresAt) then return { "later" } end

if listed(from, task.status) then
  finish(task, to, "expired", retentionMs, { error = error, message = message })
  return remember(task, op, { "failed" })
end

local sameAs = redis.call("HGET", RECORD, "sameAs")
if sameAs then redis.call("DEL", sameAs) end
redis.call("DEL", RECORD)
redis.call("ZREM", DUE, member)
redis.call("HSET", RECORD, "principal", task.principal, "expired", 1)
redis.call("PEXPIRE", RECORD, tombstoneMs)
return { "removed" }
