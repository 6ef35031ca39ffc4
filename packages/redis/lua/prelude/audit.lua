--[[
  Only while auditing. The loader puts the script into `step()`, and before that SCRIPT, its name, and SAID, its arguments
  op, claim, epoch and name as far as it has them. What the step did to the record is told in the same atomic step, one
  entry of the stream for each run, also for one that changed nothing; so what the stream tells is what the scripts did,
  seen from outside of them.

  {sNN}:audit   stream, the newest 100,000 or so
    script task op claim epoch name
    reply         JSON of the reply; of a claim its first word alone
    before after  JSON array of the fields SEEN, false for none; then the SHA-1 of what readers see, and of every byte.
                  `after` is "" when no byte changed
]]
local SEEN = {
  "status", "ver", "epoch", "claim", "leaseEnd", "wake", "queuedAt", "wakeAt", "updatedAt", "endedBy", "createdAt", "ttl",
  "crashes", "expired", "tool",
}
local SHOWN = { "status", "message", "inputs", "result", "error", "ttl" }
local KEPT_ENTRIES = 100000

local function look()
  local flat, record, bytes, told = redis.call("HGETALL", RECORD), {}, {}, {}
  for i = 1, #flat, 2 do
    record[flat[i]] = flat[i + 1]
    table.insert(bytes, flat[i] .. "\0" .. flat[i + 1])
  end
  table.sort(bytes) -- A hash has no order of its own: a larger one moves its fields about while nobody writes.
  for i, name in ipairs(SEEN) do told[i] = record[name] or false end
  local shown = {}
  for i, name in ipairs(SHOWN) do shown[i] = record[name] or "" end
  table.insert(told, redis.sha1hex(table.concat(shown, "\0")))
  table.insert(told, redis.sha1hex(table.concat(bytes, "\0")))
  return cjson.encode(told)
end

if not TASK_ID then return step() end
local before = look()
local reply = step()
local after = look()
if after == before then after = "" end
redis.call(
  "XADD", SHARD .. ":audit", "MAXLEN", "~", KEPT_ENTRIES, "*",
  "script", SCRIPT, "task", TASK_ID, "op", SAID.op or "", "claim", SAID.claim or "", "epoch", SAID.epoch or "",
  "name", SAID.name or "", "reply", cjson.encode(SCRIPT == "claim" and { reply[1] } or reply),
  "before", before, "after", after
)
return reply
