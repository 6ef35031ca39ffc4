import { createCallTool } from "./call-tool.ts";
import type { CallToolDeps } from "./call-tool.ts";
import { createDiscover } from "./discover.ts";
import type { DiscoverDeps } from "./discover.ts";
import { createFetching } from "./fetching.ts";
import { createListen } from "./listen.ts";
import type { ListenDeps } from "./listen.ts";
import { createLists } from "./lists.ts";
import type { ListDeps } from "./lists.ts";
import type { Method } from "./method.ts";
import { createTaskMethods } from "./task-methods.ts";
import type { TaskMethodDeps } from "./task-methods.ts";

/** Everything that some method stands on. */
export type MethodDeps = DiscoverDeps & ListDeps & CallToolDeps & ListenDeps & TaskMethodDeps;

/** Every method that is served, by name. What is not here is unknown (-32601). */
export function createMethods(deps: MethodDeps): ReadonlyMap<string, Method> {
  return new Map<string, Method>([
    ["server/discover", createDiscover(deps)],
    ["tools/call", createCallTool(deps)],
    ["subscriptions/listen", createListen(deps)],
    ...createLists(deps),
    ...createFetching(deps),
    ...createTaskMethods(deps),
  ]);
}
