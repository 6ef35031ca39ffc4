--[[
  Sets the status message.

  KEYS   due, record
  ARGV   op, claim, epoch, message
  Reply  done | fenced, reason
]]
local op, claim, epoch, message = unpack(ARGV, 1, 4)

local task = loadTask()
local reply = remembered(task, op) or fenced(task, claim, epoch)
if reply then return reply end

change(task, task.status, "message", message)
return remember(task, op, { "done" })
