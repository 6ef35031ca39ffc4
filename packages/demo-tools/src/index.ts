/*
 * The demo tools: `generate_report`, and the fixtures that the official conformance suite calls.
 * A module that is named in PERDURE_TOOLS exports its tools, prompts and resources just like this.
 */
export { generateReport } from "./generate-report.ts";
export {
  confirmDelete,
  failingJob,
  greet,
  multiInput,
  protocolErrorJob,
  slowCompute,
  toolWithTask,
} from "./conformance/task-tools.ts";
export {
  audioContent,
  embeddedResource,
  imageContent,
  multipleContentTypes,
  simpleText,
} from "./conformance/content-tools.ts";
export {
  about,
  errorHandling,
  headerParam,
  loggingTool,
  missingCapability,
  streamingElicitation,
  toolWithProgress,
} from "./conformance/call-tools.ts";
export {
  inputCapabilities,
  inputElicitation,
  inputListRoots,
  inputMultiple,
  inputMultiRound,
  inputRequestState,
  inputSampling,
  inputTamperedState,
} from "./conformance/input-tools.ts";
export { jsonSchemaTool } from "./conformance/schema-tool.ts";
export {
  promptWithArguments,
  promptWithImage,
  promptWithInput,
  promptWithResource,
  simplePrompt,
} from "./conformance/prompts.ts";
export { loadInput, loadPlain, loadSleep, loadStepped } from "./load-tools.ts";
export { staticBinary, staticText, templateData } from "./conformance/resources.ts";
