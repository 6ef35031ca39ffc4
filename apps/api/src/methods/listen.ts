import { PARAMS, TASKS_REQUIRED, isJsonObject, ownMember, parseParams, wireErrors } from "@perdure/protocol";
import type { JsonObject } from "@perdure/protocol";
import type { Metrics } from "@perdure/runtime";
import { TaskStoreError } from "@perdure/tasks";
import type { Clock } from "../api-deps.ts";
import { busy } from "../edge/wire-failure.ts";
import type { OwnTasks } from "../own-tasks.ts";
import type { ResultText } from "../result-text.ts";
import type { Hub, Watch } from "../streams/hub.ts";
import { createListener } from "../streams/listener.ts";
import type { StreamKeeper } from "../streams/stream-keeper.ts";
import type { Call, Method } from "./method.ts";

const WATCH_MS = 1500;

/** What listening stands on. */
export interface ListenDeps {
  readonly hub: Hub;
  readonly keeper: StreamKeeper;
  readonly ownTasks: OwnTasks;
  readonly results: ResultText;
  readonly clock: Clock;
  readonly maxAgeMs: number;
  readonly maxListens: number;
  readonly metrics: Pick<Metrics, "listeners" | "hintLagSeconds">;
}

/**
 * `subscriptions/listen` (MCP subscriptions, SEP-2663 §Task Status Notifications): subscribe, then read, then
 * acknowledge, then the snapshot of each task, then every change.
 *
 * Of the filter only `taskIds` is honoured: a catalog does not change, and resources are not watched. The stream stays
 * open when its tasks are over, as the text has it ("until the client cancels it"); it ends with a result when the
 * replica stops, the token expires, or it is older than `maxAgeMs`.
 */
export function createListen(deps: ListenDeps): Method {
  const { hub, keeper, ownTasks, results, clock, metrics } = deps;

  /** Gives what waits for the stream's end and cleans up: what was needed to open it is not held meanwhile. */
  const open = async (call: Call): Promise<(() => Promise<undefined>) | undefined> => {
    const { owner } = call;
    const { notifications } = parseParams(PARAMS["subscriptions/listen"], call.params);
    if (!call.mayStream) throw wireErrors.notAcceptable();
    if (keeper.count >= deps.maxListens) throw busy("streams");

    const listener = createListener({
      subscriptionId: call.id,
      results,
      read: (taskId) => ownTasks.read(owner, taskId),
      onNews: ({ lastUpdatedAtMs }) =>
        metrics.hintLagSeconds.observe(Math.max(0, clock.wallMs() - lastUpdatedAtMs) / 1000),
    });
    const { found, close } = await inTime(
      hub.watch({ owner, onSnapshot: listener.offer }, notifications.taskIds ?? []),
    );
    if (call.isGone) {
      close();
      return undefined;
    }

    const { promise: closed, resolve: onClose } = Promise.withResolvers<void>();
    const stream = call.openStream({ onDrain: listener.catchUp, onClose });
    listener.open(stream, found);
    const kept = {
      stream,
      endsAtMs: clock.monotonicMs() + lifetimeMs(call, deps),
      endGracefully: listener.end,
      onTick: listener.catchUp,
    };
    keeper.keep(kept);
    metrics.listeners.inc();
    return () =>
      closed.then(() => {
        metrics.listeners.dec();
        keeper.drop(kept);
        close();
        return undefined;
      });
  };

  return {
    requiredCapabilities: (params) => (asksForTasks(params) ? TASKS_REQUIRED : undefined),
    // No `await` here: it would hold the call as long as the stream.
    serve: (call) => open(call).then((ended) => ended?.()),
  };
}

/** Gives up a watch whose two steps, subscribing and reading, take longer together than a client may wait. */
async function inTime(watching: Promise<Watch>): Promise<Watch> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    watching.then(
      (watch) => watch.close(),
      () => {},
    );
    late.reject(new TaskStoreError("store_unavailable", `The store did not answer within ${WATCH_MS} ms`));
  }, WATCH_MS);
  try {
    return await Promise.race([watching, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Up to a tenth shorter than the greatest age, so that streams which began together do not end together. */
function lifetimeMs({ identity }: Call, { maxAgeMs, clock }: ListenDeps): number {
  const age = maxAgeMs * (0.9 + Math.random() * 0.1);
  return identity.expiresAtMs === undefined ? age : Math.min(age, identity.expiresAtMs - clock.wallMs());
}

function asksForTasks(params: JsonObject): boolean {
  const notifications = ownMember(params, "notifications");
  return isJsonObject(notifications) && ownMember(notifications, "taskIds") !== undefined;
}
