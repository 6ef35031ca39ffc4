--[[
  Ends a task by its worker. The result or error is kept as it is. It goes on when Redis is full.

  KEYS   due, record, counts, waiting
  ARGV   op, claim, epoch; from, to: of the move; result, error, message: "" when there is none; retentionMs
  Reply  done | fenced, reason
]]
local op, claim, epoch, from, to, result, error, message, retentionMs = unpack(ARGV, 1, 9)

local task = loadTask()
local reply = remembered(task, op) or fenced(task, claim, epoch)
if reply then return reply end
if not listed(from, task.status) then return { "fenced", "taken" } end

finish(task, to, "settled", retentionMs, { result = result, error = error, message = message })
return remember(task, op, { "done" })
