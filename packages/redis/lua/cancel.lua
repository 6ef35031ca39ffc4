--[[
  Ends a task by its owner, at once, even while a worker holds it: the worker's next write is fenced.

  KEYS   due, record, counts, waiting
  ARGV   op, principal; from, to: of the move `cancel`; reason: the status message; retentionMs
  Reply  cancelled | terminal, status | unknown | expired
]]
local op, principal, from, to, reason, retentionMs = unpack(ARGV, 1, 6)

local task = loadTask()
local reply = absent(task, principal) or remembered(task, op)
if reply then return reply end
if not listed(from, task.status) then return { "terminal", task.status } end

finish(task, to, "cancelled", retentionMs, { message = reason })
return remember(task, op, { "cancelled" })
