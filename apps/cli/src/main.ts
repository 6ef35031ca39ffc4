import { createProgram } from "./program.ts";

const screen = { env: process.env, out: process.stdout, err: process.stderr, input: process.stdin };

try {
  await createProgram(screen).parseAsync(process.argv);
} catch (error) {
  const isExpected = error instanceof Error && "code" in error;
  const text =
    error instanceof Error ? (isExpected ? error.message : (error.stack ?? error.message)) : String(error);
  process.stderr.write(`perdure: ${text}\n`);
  process.exitCode = error instanceof Error && "exitCode" in error ? Number(error.exitCode) : 1;
}
