export { LOG_LEVELS, META, PROTOCOL_VERSION, SUPPORTED_VERSIONS, TASKS_EXTENSION } from "./revision.ts";
export type { LogLevel } from "./revision.ts";
export { canonicalJson, digestOf, isJsonObject, ownMember } from "./json.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export { RPC, WIRE_ERRORS, WireError, wireErrors } from "./wire-error.ts";
export type { RequestId, WireErrorDetails, WireErrorKind } from "./wire-error.ts";
export { DEFAULT_JSON_LIMITS, parseJson } from "./parse-json.ts";
export type { JsonLimits } from "./parse-json.ts";
export { MAX_ID_LENGTH, isRequestId, parseMessage } from "./message.ts";
export type { ClientMessage } from "./message.ts";
export { parseRequestMeta } from "./request-meta.ts";
export type { RequestMeta } from "./request-meta.ts";
export { checkRoutingHeaders, checkVersion, singleHeader } from "./headers.ts";
export type { HeaderReader } from "./headers.ts";
export { checkParamHeaders } from "./param-headers.ts";
export type { HeaderParam } from "./param-headers.ts";
export { TASKS_REQUIRED, hasTasksExtension, missingCapabilities } from "./capabilities.ts";
export { MAX_LISTEN_IDS, PARAMS, parseParams } from "./params.ts";
export type { KnownMethod } from "./params.ts";
export {
  SSE_KEEP_ALIVE,
  errorText,
  notificationText,
  resultText,
  sseEvent,
  withMember,
} from "./message-text.ts";
export {
  callToolResult,
  contentBlock,
  createMessageResult,
  elicitResult,
  listRootsResult,
} from "./content.ts";
export { assertInputResponse } from "./input-response.ts";
export type { InputResponse } from "./input-response.ts";
export { pageOf } from "./cursor.ts";
export type { Page, Paging } from "./cursor.ts";
export { MAX_STATE_LENGTH, createStateSeal, requestDigest } from "./state-seal.ts";
export type { OpenedState, StateBinding, StateSeal, StateSealOptions } from "./state-seal.ts";
