/**
 * Why there is no running server.
 * - `redis_not_found`: none on the machine, and none could be installed
 * - `redis_port_taken`: something else listens on the port that was asked for
 * - `redis_dir_in_use`: another running server keeps its data in the folder
 * - `redis_start_failed`: the server ended, or did not answer within the deadline
 */
export type RedisServerErrorCode =
  | "redis_not_found"
  | "redis_port_taken"
  | "redis_dir_in_use"
  | "redis_start_failed";

/** A server could not be found or started. `log` holds the server's own last lines, oldest first. */
export class RedisServerError extends Error {
  override readonly name = "RedisServerError";
  readonly code: RedisServerErrorCode;
  readonly log: readonly string[];

  constructor(code: RedisServerErrorCode, message: string, log: readonly string[] = []) {
    super([message, ...log.map((line) => `  ${line}`)].join("\n"));
    this.code = code;
    this.log = log;
  }
}
