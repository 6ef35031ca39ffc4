export { defineTool } from "./define-tool.ts";
export type { Icon, Returned, ToolAnnotations, ToolDefinition, TypedTool } from "./define-tool.ts";
export { toolResult } from "./tool-result.ts";
export type { ToolResult, ToolResultParts } from "./tool-result.ts";
export { definePrompt } from "./define-prompt.ts";
export type {
  PromptArgumentDefinition,
  PromptArguments,
  PromptDefinition,
  PromptMessage,
  PromptReturned,
} from "./define-prompt.ts";
export { defineResource } from "./define-resource.ts";
export type { ResourceDefinition, ResourceReturned, VariablesOf } from "./define-resource.ts";
export type { ContentAnnotations, ContentBlock, ResourceContents } from "./content.ts";
export { runToolInMemory } from "./run-tool-in-memory.ts";
export type { InMemoryRun } from "./run-tool-in-memory.ts";
export type { AskedRequest, InMemoryAnswer, InMemoryOptions } from "./memory.ts";
export {
  BrokenRule,
  InvalidAnswer,
  MissingCapability,
  ProtocolError,
  RunEnded,
  StepFailed,
  TaskCancelled,
  ToolError,
} from "./errors.ts";
export type { JsonObject, JsonValue } from "./json.ts";
export type { Completer, Prompt, PromptArgument } from "./prompt.ts";
export type { Resource } from "./resource.ts";
export type {
  CallContext,
  Caller,
  Duration,
  ElicitAnswer,
  Elicitation,
  LogLevel,
  ProgressAmount,
  Root,
  SampleAnswer,
  SampleRequest,
  TaskContext,
  ToolLog,
} from "./task-context.ts";
export type { ClientNeed, RetryPolicy, TaskSupport, Tool } from "./tool.ts";
