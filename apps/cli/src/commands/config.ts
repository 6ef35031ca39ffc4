import { describeConfig, parseConfig } from "@perdure/runtime";
import { withoutClientVariables } from "./client-variables.ts";

/** Prints the effective configuration, one `NAME=value` a line, secrets masked. */
export function printConfig(env: NodeJS.ProcessEnv, out: NodeJS.WritableStream): void {
  for (const line of describeConfig(parseConfig(withoutClientVariables(env)))) out.write(`${line}\n`);
}
