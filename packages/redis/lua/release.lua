--[[
  Gives a task back before its end. A shutdown counts nothing; a retry counts one failure and may wait.

  KEYS   due, record, counts, waiting
  ARGV   op, claim, epoch; reason: shutdown | retry; failed: name of what failed; delayMs: until the next run;
         message: the status message of a retry; rewakeMs
  Reply  released | queued, wake, epoch, depth | fenced, reason
]]
local op, claim, epoch, reason, failed, delayMs, message, rewakeMs = unpack(ARGV, 1, 8)

local task = loadTask()
local reply = remembered(task, op) or fenced(task, claim, epoch)
if reply then return reply end

evenWhenFull()
endLease(task)
if reason == "retry" then
  redis.call("HINCRBY", RECORD, "failures", 1)
  redis.call("HINCRBY", RECORD, "at:" .. failed, 1)
  change(task, task.status, "message", message)
  if tonumber(delayMs) > 0 then
    redis.call("HSET", RECORD, "wakeAt", NOW + delayMs)
    lookAgain(task, NOW + delayMs)
    return remember(task, op, { "released" })
  end
end
return remember(task, op, { "queued", enqueue(task, rewakeMs) })
