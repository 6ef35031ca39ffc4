--[[
  Ends a run that can go on only with input or at a later time: the lease ends, the requests go out, the timers are set.
  A key that was asked before keeps its request, and a name that was slept under keeps its end.
  When what it waits for has come in the meantime, the task is queued again at once.

  KEYS   due, record, counts, waiting
  ARGV   op, claim, epoch; from, to: of the move `ask`; rewakeMs; requests: how many;
         then key, request for each of them; then name, durationMs for each sleep
  Reply  parked | queued, wake, epoch, depth | conflict, key | fenced, reason
]]
local op, claim, epoch, from, to, rewakeMs, requests = unpack(ARGV, 1, 7)
local firstRequest, firstSleep = 8, 8 + 2 * requests

local task = loadTask()
local reply = remembered(task, op) or fenced(task, claim, epoch)
if reply then return reply end
if not listed(from, task.status) then return { "fenced", "taken" } end

local asked = {}
for i = firstRequest, firstSleep - 1, 2 do
  local key, request = ARGV[i], ARGV[i + 1]
  local known = asked[key] or redis.call("HGET", RECORD, "rq:" .. key)
  if known and known ~= request then return { "conflict", key } end
  asked[key] = request
end

local asking = {}
for i = firstRequest, firstSleep - 1, 2 do
  local key = ARGV[i]
  redis.call("HSETNX", RECORD, "rq:" .. key, ARGV[i + 1])
  if asked[key] and redis.call("HEXISTS", RECORD, "rs:" .. key) == 0 then table.insert(asking, key) end
  asked[key] = nil
end

local wakeAt
for i = firstSleep, #ARGV, 2 do
  redis.call("HSETNX", RECORD, "sl:" .. ARGV[i], NOW + ARGV[i + 1])
  local ending = tonumber(redis.call("HGET", RECORD, "sl:" .. ARGV[i]))
  wakeAt = math.min(wakeAt or ending, ending)
end

endLease(task)
local answered = firstSleep > firstRequest and #asking == 0
local slept = wakeAt and wakeAt <= NOW
local idle = #asking == 0 and not wakeAt
if answered or slept or idle then return remember(task, op, { "queued", enqueue(task, rewakeMs) }) end

if wakeAt then redis.call("HSET", RECORD, "wakeAt", wakeAt) end
if #asking > 0 then change(task, to, "asking", cjson.encode(asking), "inputs", inputsOf(asking)) end
lookAgain(task, wakeAt or task.expiresAt)
return remember(task, op, { "parked" })
