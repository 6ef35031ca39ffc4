import { LOG_LEVELS } from "@perdure/protocol";
import type { JsonObject, LogLevel } from "@perdure/protocol";
import type { ProgressAmount } from "@perdure/toolkit/host";
import type { Call } from "../methods/method.ts";

/** Tells of progress on a call, if its client gave a token (MCP progress). */
export type SayProgress = (message: string, amount?: ProgressAmount) => void;

const SMALLEST_STEP = 1e-6;

/**
 * The value must grow with each notification, so one that does not is left out. Without an amount it counts messages;
 * a message among amounts grows by next to nothing.
 */
export function progressOf(call: Pick<Call, "meta" | "notify">): SayProgress {
  const { progressToken } = call.meta;
  let last = 0;
  let hasBegun = false;
  let hasAmounts = false;
  return (message, amount) => {
    if (progressToken === undefined) return;
    const done = amount && Number.isFinite(amount.done) ? amount.done : undefined;
    hasAmounts ||= done !== undefined;
    const progress = done ?? last + (hasAmounts ? SMALLEST_STEP : 1);
    if (hasBegun && progress <= last) return;
    hasBegun = true;
    last = progress;
    const total = amount?.total !== undefined && Number.isFinite(amount.total) ? amount.total : undefined;
    call.notify("notifications/progress", JSON.stringify({ progressToken, progress, total, message }));
  };
}

/** Sends a log message of a call, if its client asked for that level (MCP logging). */
export type SayLog = (level: LogLevel, message: string, data?: JsonObject) => void;

/** `logger` is the name of the tool, prompt or resource. */
export function logOf(call: Pick<Call, "meta" | "notify">, logger: string): SayLog {
  const { logLevel } = call.meta;
  const least = logLevel === undefined ? Number.POSITIVE_INFINITY : LOG_LEVELS.indexOf(logLevel);
  return (level, message, data) => {
    if (LOG_LEVELS.indexOf(level) < least) return;
    const params = { level, logger, data: data === undefined ? message : { message, ...data } };
    call.notify("notifications/message", JSON.stringify(params));
  };
}
