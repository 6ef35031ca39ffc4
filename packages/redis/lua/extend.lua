--[[
  Raises the ttl so that at least `ms` are left from now; never lowers it.

  KEYS   due, record
  ARGV   op, claim, epoch, ms
  Reply  done | fenced, reason
]]
local op, claim, epoch, ms = unpack(ARGV, 1, 4)

local task = loadTask()
local reply = remembered(task, op) or fenced(task, claim, epoch)
if reply then return reply end

local ttl = NOW + ms - task.createdAt
if ttl <= task.ttl then return { "done" } end
change(task, task.status, "ttl", ttl)
task.expiresAt = task.createdAt + ttl
lookAgain(task, task.leaseEnd)
return remember(task, op, { "done" })
