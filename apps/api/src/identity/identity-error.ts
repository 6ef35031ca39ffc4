/**
 * What is wrong with how identity was set up.
 * `bad_option`: `option` names it. `open_not_loopback`: open mode was asked for on an address that others can reach.
 */
export type IdentityErrorCode = "bad_option" | "open_not_loopback";

/** Thrown while a process is being put together, never while a request is served. The message is one line. */
export class IdentityError extends Error {
  override readonly name = "IdentityError";
  readonly code: IdentityErrorCode;
  /** The option at fault, by its name in the code. */
  readonly option: string;

  constructor(code: IdentityErrorCode, option: string, message: string) {
    super(message);
    this.code = code;
    this.option = option;
  }
}
