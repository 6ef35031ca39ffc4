--[[
  How scripts write. Each validates first and writes last: an error in the middle would keep the writes before it.
]]
local OPS_BYTES = 512

-- A write of nothing that Redis allows when it is full; it then allows the rest of the script. For scripts that lead
-- a task to its end, so that a full Redis gets emptier.
local function evenWhenFull()
  redis.call("ZREM", DUE, "")
end

-- Keeps the reply of `op` in a ring of the newest operations, and gives it back.
local function remember(task, op, reply)
  local ops = (task.ops or "") .. "\n" .. op .. " " .. cjson.encode(reply)
  local nextOp = string.find(ops, "\n", 2, true)
  while #ops > OPS_BYTES and nextOp do
    ops = string.sub(ops, nextOp)
    nextOp = string.find(ops, "\n", 2, true)
  end
  redis.call("HSET", RECORD, "ops", ops)
  return reply
end

-- Moves the one `due` entry of the task: it is looked at then, and not later than its expiry.
local function lookAgain(task, at)
  redis.call("ZADD", DUE, math.min(at, task.expiresAt), TENANT_REF .. ":" .. TASK_ID)
end

-- Changes what readers see: the status, the given fields and values, one more `ver`, the time, and a hint.
local function change(task, status, ...)
  local ver = task.ver + 1
  local updatedAt = math.max(NOW, task.updatedAt)
  redis.call("HSET", RECORD, "status", status, "ver", ver, "updatedAt", updatedAt, ...)
  redis.call("PUBLISH", SHARD .. ":hints:" .. TENANT_REF, TASK_ID .. "|" .. ver .. "|" .. status)
end

-- Makes the task runnable by a new wake-up, and gives the wake-up's numbers and the length of the tenant's queue.
local function enqueue(task, rewakeMs)
  local wake = task.wake + 1
  redis.call("HSET", RECORD, "wake", wake, "queuedAt", NOW)
  lookAgain(task, NOW + rewakeMs)
  return wake, task.epoch, count("queued", 1)
end

-- The JSON object text of the outstanding requests. The requests are joined as they are, never decoded.
local function inputsOf(asking)
  local members = {}
  for i, key in ipairs(asking) do
    members[i] = cjson.encode(key) .. ":" .. redis.call("HGET", RECORD, "rq:" .. key)
  end
  return "{" .. table.concat(members, ",") .. "}"
end

-- Ends the task: lease, waits and journal go, and nothing but its removal comes after. `fields` are the message, result
-- and error that readers see from now on.
local function finish(task, status, endedBy, retentionMs, fields)
  local removeAt = math.max(task.expiresAt, NOW + retentionMs)
  evenWhenFull()
  endLease(task)
  if task.queuedAt then count("queued", -1) end
  count("open", -1)
  redis.call("ZREM", WAITING, TASK_ID)
  redis.call("HDEL", RECORD, "queuedAt", "wakeAt", "asking", "inputs", "message")
  for _, field in ipairs(redis.call("HKEYS", RECORD)) do
    if string.match(field, "^%l%l:") then redis.call("HDEL", RECORD, field) end
  end
  local last = { "endedBy", endedBy, "removeAt", removeAt }
  for name, text in pairs(fields) do
    if text ~= "" then
      table.insert(last, name)
      table.insert(last, text)
    end
  end
  redis.call("ZADD", DUE, removeAt, TENANT_REF .. ":" .. TASK_ID)
  change(task, status, unpack(last))
end
