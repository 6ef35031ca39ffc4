/** Something the person at the terminal can mend: its message is printed alone, without a stack. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly code = "perdure_cli";
  /** 1: failed; 2: wrong words; 3: the task waits for input that was not given. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}
