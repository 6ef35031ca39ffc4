--[[
  What every script can say of a task before it writes. The loader puts before each script what it
  comes to use of the preludes, by name, and not the comments.

  KEYS of every script
    due     {sNN}:due                        zset: <tenantRef>:<taskId> by the time it must be looked at next
    record  {sNN}:t:<tenantRef>:<taskId>     hash, below
    counts  {sNN}:n:<tenantRef>              hash: how many of the tenant's tasks are open, queued, running
    waiting {sNN}:w:<tenantRef>              zset: ids of queued tasks that found all of the tenant's slots taken
  Of the whole shard, for operators alone: no script decides by them
    {sNN}:open, {sNN}:queued, {sNN}:running  a number; zsets of <tenantRef>:<taskId> by the time since when

  Fields of the record. Times are milliseconds since the epoch by Redis TIME; texts of clients are never decoded.
    once      tenant principal scopes method params tool capabilities prepared poll createdAt
              sameAs: the key that holds the task's idempotency key
    snapshot  status message ver updatedAt ttl inputs result error
    lease     epoch; claim and leaseEnd while a worker holds the task
    waiting   wake; queuedAt while it may run; wakeAt while it sleeps; asking (JSON array of the outstanding keys)
    counts    failures (of the tool), crashes (of workers)
    end       endedBy: cancelled | expired | settled; removeAt
    journal   st:<step> rq:<key> rs:<key> sl:<sleep> at:<failed>
    ops       the last operations, each with its reply: a command that is sent again changes nothing
  A tombstone has principal and expired, and nothing else.
]]
local DUE, RECORD, COUNTS, WAITING = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local SHARD, TENANT_REF, TASK_ID = string.match(RECORD or "", "^(.-):t:(.-):(.*)$")

local TIME = redis.call("TIME")
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

-- The small fields of the record by name, nil where there is none; and `expiresAt`. Written out, for every script pays for it.
local function loadTask()
  local v = redis.call(
    "HMGET", RECORD, "status", "principal", "expired", "claim", "asking", "endedBy", "ops", "ver", "createdAt",
    "updatedAt", "ttl", "epoch", "leaseEnd", "wake", "queuedAt", "wakeAt", "crashes", "removeAt"
  )
  local function number(i) return v[i] and tonumber(v[i]) or nil end
  local createdAt, ttl = number(9), number(11)
  return {
    status = v[1] or nil, principal = v[2] or nil, expired = v[3] or nil, claim = v[4] or nil, asking = v[5] or nil,
    endedBy = v[6] or nil, ops = v[7] or nil, ver = number(8), createdAt = createdAt, updatedAt = number(10), ttl = ttl,
    epoch = number(12), leaseEnd = number(13), wake = number(14), queuedAt = number(15), wakeAt = number(16),
    crashes = number(17), removeAt = number(18), expiresAt = createdAt and createdAt + ttl,
  }
end

-- True when `status` is in `from`, a comma list out of the table of moves.
local function listed(from, status)
  return string.find("," .. from .. ",", "," .. status .. ",", 1, true) ~= nil
end

-- The reply that `op` had, when this is the same operation again.
local function remembered(task, op)
  local _, last = string.find(task.ops or "", "\n" .. op .. " ", 1, true)
  return last and cjson.decode(string.match(task.ops, "^[^\n]*", last + 1))
end

-- Why a client may not see the task. A stranger's reply is the same with and without a task.
local function absent(task, principal)
  if task.principal ~= principal then return { "unknown" } end
  return task.expired and { "expired" }
end

-- Why the claim no longer lets its worker write.
local function fenced(task, claim, epoch)
  if not task.status then return { "fenced", "gone" } end
  if task.endedBy then return { "fenced", task.endedBy } end
  if task.claim ~= claim or task.epoch ~= tonumber(epoch) then return { "fenced", "taken" } end
end
