--[[
  Lets a request pass, or says how long it must wait: at most so many a second for each key, and a second's worth at
  once (GCRA: each key holds the time at which the next request is due). A refused request counts for neither key.

  KEYS   due: unused; tenant, principal: of one slot, gone by themselves when nothing is asked for a second
  ARGV   tenantRate, principalRate: requests a second, 0 for any number
  Reply  allowed | limited, which, retryAfterMs          which: tenant | principal
]]
local tenantRate, principalRate = unpack(ARGV, 1, 2)

local names, rates, due = { "tenant", "principal" }, { tonumber(tenantRate), tonumber(principalRate) }, {}
for i, rate in ipairs(rates) do
  if rate > 0 then
    due[i] = math.max(tonumber(redis.call("GET", KEYS[i + 1]) or 0), NOW) + 1000 / rate
    if due[i] - NOW > 1000 then return { "limited", names[i], math.ceil(due[i] - NOW - 1000) } end
  end
end
for i, at in pairs(due) do
  redis.call("SET", KEYS[i + 1], string.format("%.3f", at), "PX", math.ceil(at - NOW) + 1)
end
return { "allowed" }
