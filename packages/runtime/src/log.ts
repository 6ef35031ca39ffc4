import { pino, stdTimeFunctions, type DestinationStream, type Level, type Logger } from "pino";
import type { Config, Role } from "./variables.ts";

type Write = (data: Readonly<Record<string, unknown>>, message: string) => void;

/**
 * A structured log: data first, then one plain sentence. An error goes under `err`; a task under `taskId` and `tool`;
 * a request under `requestId`. Arguments, results and tokens never go in.
 */
export interface Log {
  readonly trace: Write;
  readonly debug: Write;
  readonly info: Write;
  readonly warn: Write;
  readonly error: Write;
  readonly fatal: Write;
  /** False when lines of this level are not written: there is no need to make one. */
  readonly writes: (level: "debug" | "info" | "warn" | "error") => boolean;
  /** A log whose lines all carry `bindings`: `{ requestId }`, `{ taskId, tool }`. */
  child(bindings: Readonly<Record<string, unknown>>): Log;
}

/** What is logged, and by whom. */
export interface LogOptions {
  /** The least level that is written; `"silent"` writes nothing. */
  readonly level: Config["logLevel"];
  readonly role: Role;
  /** Where lines go, each with its newline; standard output when absent. */
  readonly destination?: { write(line: string): void };
}

/** A net under "never log it": should a line carry one of these all the same, its value is not written. */
const REDACTED = ["authorization", "token", "arguments", "params", "password", "secret"];

/** A {@link Log} of JSON lines. It writes synchronously, so that nothing is lost at exit. */
export function createLog({ level, role, destination = pino.destination({ sync: true }) }: LogOptions): Log {
  const options = {
    level,
    base: { role, pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: REDACTED.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: "***" },
    serializers: { err: presentError },
  };
  return wrap(pino(options, toStream(destination)));
}

function toStream(destination: { write(line: string): void }): DestinationStream {
  return destination;
}

/** `bound`: the logger whose lines carry what a child is bound to. It is made for the first of them: most children write none. */
function wrap(logger: Logger, bound: () => Logger = () => logger): Log {
  const write =
    (level: Level): Write =>
    (data, message) => {
      if (logger.isLevelEnabled(level)) bound()[level](data, message);
    };
  return {
    trace: write("trace"),
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
    fatal: write("fatal"),
    writes: (level) => logger.isLevelEnabled(level),
    child(bindings) {
      let made: Logger | undefined;
      return wrap(logger, () => (made ??= bound().child(bindings)));
    },
  };
}

const MAX_CAUSES = 5;

/**
 * An error without its other properties: a Redis client's error carries the command it sent, with all of a record in it.
 */
function presentError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return { message: String(error) };
  const code: unknown = "code" in error ? error.code : undefined;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    stack: error.stack,
    ...(error.cause === undefined || depth >= MAX_CAUSES
      ? {}
      : { cause: presentError(error.cause, depth + 1) }),
  };
}
