--[[
  Fixes how tasks are laid out at the first start, and compares at every other: with another number of shards the tasks
  of most tenants would be looked for where they are not.

  KEYS   layout        {s00}:meta, a hash
  ARGV   version: of the keys and fields; shards: how many
  Reply  pinned | differs, version, shards   what was fixed
]]
local layout = KEYS[1]
local version, shards = unpack(ARGV, 1, 2)

local pinned = redis.call("HMGET", layout, "version", "shards")
if not pinned[1] then
  redis.call("HSET", layout, "version", version, "shards", shards)
  return { "pinned" }
end
if pinned[1] == version and pinned[2] == shards then return { "pinned" } end
return { "differs", pinned[1], pinned[2] }
