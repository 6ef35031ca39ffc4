const CLIENT_VARIABLES: ReadonlySet<string> = new Set(["PERDURE_URL", "PERDURE_TOKEN"]);

/** The environment without what only the client commands read (`PERDURE_URL`, `PERDURE_TOKEN`): the roles would refuse the names. */
export function withoutClientVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !CLIENT_VARIABLES.has(name)));
}
