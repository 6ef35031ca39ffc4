--[[
  Gives a runnable task to a worker: a lease with one more epoch. A lease that has ended is taken over and counted as a
  crash of its worker; one crash too many is left to the reconciler, which fails the task.
  The claim's own nonce is the operation id: the holder is told again, a claim that was had and lost is not had again.

  KEYS   due, record, counts, waiting
  ARGV   claim: a nonce; from: statuses in which a worker may run the task; leaseMs; maxCrashes;
         maxRunning: of one tenant, 0 for any number; slotMs: until a task that waits for a slot is looked at anyway
  Reply  claimed, now, {field, value, ...}, tookOver   the whole record; 1 when a silent worker's lease was ended for it
         throttled   the tenant's slots are taken; it is looked at when one is free
         held        another worker has a live lease
         parked      waits for input or for a time
         terminal | overdue | unknown
]]
local claim, from, leaseMs, maxCrashes, maxRunning, slotMs = unpack(ARGV, 1, 6)

local task = loadTask()
if not task.status then return { "unknown" } end
if task.endedBy then return { "terminal" } end
local had = remembered(task, claim)
if task.claim == claim then return { "claimed", NOW, redis.call("HGETALL", RECORD), had and had[2] or 0 } end
if had then return { "held" } end
if NOW >= task.expiresAt then return { "overdue" } end
if not listed(from, task.status) or NOW < (task.wakeAt or 0) then return { "parked" } end

local crashes = task.crashes
if task.claim then
  crashes = crashes + 1
  if NOW < task.leaseEnd or crashes > tonumber(maxCrashes) then return { "held" } end
end

evenWhenFull()
local limit = tonumber(maxRunning)
if limit > 0 and not task.claim then
  if tonumber(redis.call("HGET", COUNTS, "running") or 0) >= limit then
    redis.call("ZADD", WAITING, task.queuedAt or NOW, TASK_ID)
    lookAgain(task, NOW + slotMs)
    return { "throttled" }
  end
  redis.call("ZREM", WAITING, TASK_ID)
end

if task.queuedAt then count("queued", -1) end
if not task.claim then count("running", 1) end
redis.call("HDEL", RECORD, "queuedAt", "wakeAt")
redis.call("HSET", RECORD, "claim", claim, "epoch", task.epoch + 1, "leaseEnd", NOW + leaseMs, "crashes", crashes)
lookAgain(task, NOW + leaseMs)
local tookOver = task.claim and 1 or 0
remember(task, claim, { "claimed", tookOver })
return { "claimed", NOW, redis.call("HGETALL", RECORD), tookOver }
