--[[
  Moves the end of the lease to now + lease. Readers see nothing of it. It goes on when Redis is full.

  KEYS   due, record
  ARGV   op, claim, epoch, leaseMs
  Reply  done | fenced, reason
]]
local op, claim, epoch, leaseMs = unpack(ARGV, 1, 4)

local task = loadTask()
local reply = remembered(task, op) or fenced(task, claim, epoch)
if reply then return reply end

evenWhenFull()
redis.call("HSET", RECORD, "leaseEnd", NOW + leaseMs)
lookAgain(task, NOW + leaseMs)
return remember(task, op, { "done" })
