export { createApi } from "./create-api.ts";
export type { Api, ApiCounts } from "./create-api.ts";
export { SYSTEM_CLOCK } from "./api-deps.ts";
export type { ApiDeps, ApiLimits, Clock, ServerOptions } from "./api-deps.ts";
