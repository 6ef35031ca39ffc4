/**
 * Why the store refuses to start: `redis_url` cannot be used, `redis_eviction` would lose tasks, `redis_durability` is less
 * than asked for, `redis_layout` was fixed differently at the first start.
 */
export type RedisSetupErrorCode = "redis_url" | "redis_eviction" | "redis_durability" | "redis_layout";

/** A refusal to start: one line for an operator, with what mends it. */
export class RedisSetupError extends Error {
  override readonly name = "RedisSetupError";
  readonly code: RedisSetupErrorCode;

  constructor(code: RedisSetupErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
