export { runTool, prepareTool } from "./run-tool.ts";
export type { RunHost, RunJournal, RunOutcome, PrepareOutcome, InputRequest, RpcError } from "./run-host.ts";
export { loadCatalog } from "./catalog.ts";
export type { Catalog } from "./catalog.ts";
export type { CallHost, CallOutcome, Completion } from "./run-host.ts";
