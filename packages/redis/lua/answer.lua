--[[
  Keeps a client's answers. A key counts when it was asked and is not answered; the first answer wins. When the last
  outstanding request is answered the task is queued again.
  Answers that come while a worker runs the task are kept too: readers see no change, the next run does.

  KEYS   due, record, counts, waiting
  ARGV   op, principal; from, to: of the move `resume`; rewakeMs; then key, response for each answer
  Reply  accepted, {key, ...}                the keys that counted
         resumed, {key, ...}, wake, epoch, depth
         unknown | expired
]]
local op, principal, from, to, rewakeMs = unpack(ARGV, 1, 5)

local task = loadTask()
local reply = absent(task, principal) or remembered(task, op)
if reply then return reply end

local applied = {}
if task.endedBy then return { "accepted", applied } end
for i = 6, #ARGV, 2 do
  local key = ARGV[i]
  local isAsked = redis.call("HEXISTS", RECORD, "rq:" .. key) == 1
  if isAsked and redis.call("HSETNX", RECORD, "rs:" .. key, ARGV[i + 1]) == 1 then table.insert(applied, key) end
end
if #applied == 0 then return { "accepted", applied } end
if not listed(from, task.status) then return remember(task, op, { "accepted", applied }) end

local before, asking = cjson.decode(task.asking), {}
for _, key in ipairs(before) do
  if redis.call("HEXISTS", RECORD, "rs:" .. key) == 0 then table.insert(asking, key) end
end
if #asking > 0 then
  if #asking < #before then
    change(task, task.status, "asking", cjson.encode(asking), "inputs", inputsOf(asking))
  end
  return remember(task, op, { "accepted", applied })
end

redis.call("HDEL", RECORD, "asking", "inputs", "wakeAt")
change(task, to)
return remember(task, op, { "resumed", applied, enqueue(task, rewakeMs) })
