--[[
  Keeps what a step gave. The first record of a name wins, which makes it idempotent without an operation id.

  KEYS   due, record
  ARGV   claim, epoch, name, value
  Reply  done | fenced, reason
]]
local claim, epoch, name, value = unpack(ARGV, 1, 4)

local reply = fenced(loadTask(), claim, epoch)
if reply then return reply end

redis.call("HSETNX", RECORD, "st:" .. name, value)
return { "done" }
