--[[
  Looks at a task that was due, and does what its state asks for: a dead lease is reaped, a timer fires, a queued task
  gets its wake-up again (the same one: a second copy is no second run). What is not due after all is put back.

      queued ──► wake, later and later up to 3 x rewakeMs        leased ──► lease over? wake, or one crash too many: failed
      sleeping ──► timer over? wake; open requests stay askable   ended ──► keeping time over? overdue

  KEYS   due, record, counts, waiting
  ARGV   op; from, to: of the move `resume`; failed: the status of one given up; rewakeMs, maxCrashes, retentionMs
  Reply  wake, cause, wake, epoch, depth     cause: queued | lease-ended | timer
         overdue | failed | later | gone
]]
local op, from, to, failed, rewakeMs, maxCrashes, retentionMs = unpack(ARGV, 1, 7)

local task = loadTask()
evenWhenFull()
if not task.status then
  redis.call("ZREM", DUE, TENANT_REF .. ":" .. TASK_ID)
  return { "gone" }
end
local reply = remembered(task, op)
if reply then return reply end
if NOW >= (task.removeAt or task.expiresAt) then return { "overdue" } end
if task.endedBy then
  redis.call("ZADD", DUE, task.removeAt, TENANT_REF .. ":" .. TASK_ID)
  return { "later" }
end

local waitsUntil = task.leaseEnd or task.wakeAt or (listed(from, task.status) and task.expiresAt)
if waitsUntil and NOW < waitsUntil then
  lookAgain(task, waitsUntil)
  return { "later" }
end

if task.claim then
  local crashes = task.crashes + 1
  redis.call("HSET", RECORD, "crashes", crashes)
  if crashes > tonumber(maxCrashes) then
    local message = "The task ended " .. crashes .. " workers and was given up"
    local error = '{"code":-32603,"message":"' .. message .. '"}'
    finish(task, failed, "settled", retentionMs, { message = message, error = error })
    return remember(task, op, { "failed" })
  end
  endLease(task)
  return remember(task, op, { "wake", "lease-ended", enqueue(task, rewakeMs) })
end

if task.wakeAt then
  redis.call("HDEL", RECORD, "wakeAt", "asking", "inputs")
  if listed(from, task.status) then change(task, to) end
  return remember(task, op, { "wake", "timer", enqueue(task, rewakeMs) })
end

local waitedMs = NOW - (task.queuedAt or NOW)
lookAgain(task, NOW + math.min(math.max(rewakeMs, waitedMs / 2), 3 * rewakeMs))
return { "wake", "queued", task.wake, task.epoch, tonumber(redis.call("HGET", COUNTS, "queued") or 1) }
