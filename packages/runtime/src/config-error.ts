/** A configuration that cannot be used. `message` is one line: the variable, what is wrong with its value, and an example. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly code = "config_invalid";
  /** The name of the variable to mend. */
  readonly variable: string;

  constructor(variable: string, message: string) {
    super(message);
    this.variable = variable;
  }
}
