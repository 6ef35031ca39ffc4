export { runTool, prepareTool } from "./run-tool.ts";
export { getPrompt } from "./serve-prompt.ts";
export { findResource, readResource } from "./serve-resource.ts";
export { completeArgument } from "./complete-argument.ts";
export type { ArgumentToComplete } from "./complete-argument.ts";
export type {
  CallHost,
  CallOutcome,
  Completion,
  InputRequest,
  PrepareOutcome,
  RpcError,
  RunHost,
  RunJournal,
  RunOutcome,
} from "./run-host.ts";
export { CatalogError, loadCatalog } from "./catalog.ts";
export type { Catalog } from "./catalog.ts";
export type { Caller, LogLevel, ProgressAmount } from "./task-context.ts";
export { LOG_LEVELS } from "./task-context.ts";
export type { Prompt, PromptArgument } from "./prompt.ts";
export type { Resource } from "./resource.ts";
export type { ClientNeed, HeaderParam, Parsed, TaskSupport, Tool } from "./tool.ts";
