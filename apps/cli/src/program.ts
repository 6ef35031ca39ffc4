import { VERSION } from "@perdure/runtime";
import { Command, InvalidArgumentError } from "commander";
import { type CallOptions, type Screen, call, cancelTask, watch } from "./commands/call.ts";
import { printConfig } from "./commands/config.ts";
import type { ConnectOptions } from "./commands/connect.ts";
import { type LoadCommandOptions, load } from "./commands/load.ts";
import { demo } from "./commands/demo.ts";
import { serveIssuer } from "./commands/issuer.ts";
import { type TokenOptions, token } from "./commands/token.ts";
import { up } from "./commands/up.ts";

/** The `perdure` command: its words, and what each of them runs. */
export function createProgram(screen: Screen): Command {
  const program = new Command("perdure")
    .description("Durable tasks for the Model Context Protocol")
    .version(VERSION);

  program
    .command("up")
    .description("start a private Redis, a replica, a worker and a development issuer")
    .option("--issuer-port <port>", "where the development issuer listens", portNumber, 9402)
    .action((options: { issuerPort: number }) => up(options, screen));
  program
    .command("token")
    .description("print a token of the development issuer")
    .requiredOption("--tenant <tenant>", "whose data")
    .requiredOption("--principal <principal>", "who calls")
    .option("--scope <scopes>", "scopes, separated by spaces or commas", "")
    .option("--expires <duration>", "how long it is good for: 30s, 15m, 1h, 7d", "1h")
    .action((options: TokenOptions) => token(options, screen));
  client(program.command("call"))
    .description("call a tool, answer what it asks, and print the result")
    .argument("<tool>")
    .argument("[arguments...]", "key=value")
    .option("--detach", "print the task id and do not wait")
    .action((tool: string, words: string[], options: CallOptions) => call([tool, ...words], options, screen));
  client(program.command("watch"))
    .description("follow a task to its end")
    .argument("<taskId>")
    .action((taskId: string, options: CallOptions) => watch(taskId, options, screen));
  server(program.command("tasks").command("cancel"))
    .description("ask for a task to be cancelled")
    .argument("<taskId>")
    .action((taskId: string, options: ConnectOptions) => cancelTask(taskId, options, screen));
  server(program.command("load"))
    .description("make tasks at a stated rate, follow them to their end, and write a report")
    .option("--rate <tasks>", "tasks a second, or max", "10")
    .option("--duration <time>", "how long tasks are made: 30s, 5m", "30s")
    .option("--mix <weights>", "of plain, stepped, input and sleep", "plain=4,stepped=2,input=1,sleep=1")
    .option("--pollers <weight>", "how many of the tasks are polled, against --listeners", Number, 1)
    .option("--listeners <weight>", "how many of the tasks are listened for", Number, 1)
    .option("--open <tasks>", "tasks that may be open at a time", Number, 2000)
    .option("--drain <time>", "how long tasks may take to end, after the last was made", "60s")
    .option(
      "--ops <urls>",
      "ops ports of replicas and workers, for CPU and memory: http://127.0.0.1:9400,…",
      "",
    )
    .option("--out <name>", "where the report goes, without .html", "load-report")
    .action((options: LoadCommandOptions) => load(options, screen));
  program
    .command("config")
    .description("print the effective configuration, secrets masked")
    .action(() => printConfig(screen.env, screen.out));
  program
    .command("issuer")
    .description("serve the development issuer alone: it gives tokens to anyone who asks")
    .option("--host <host>", "where to listen", "127.0.0.1")
    .option("--port <port>", "where to listen", portNumber, 9402)
    .action((address: { host: string; port: number }) => serveIssuer(address, screen));
  program
    .command("demo")
    .description("bring up a stack of its own, run generate_report, and print what each request said")
    .action(() => demo(screen.out, (line) => void screen.err.write(`${line}\n`)));
  return program;
}

function server(command: Command): Command {
  return command
    .option("--url <url>", "the MCP endpoint (PERDURE_URL)")
    .option("--token <token>", "a bearer token (PERDURE_TOKEN)")
    .option("--tenant <tenant>", "of the development token", "acme")
    .option("--principal <principal>", "of the development token", "alice");
}

function client(command: Command): Command {
  return server(command)
    .option("--watch", "print every state of the task as a line of JSON, instead of the result")
    .option("--answer <KEY.field=value>", "an answer to what is asked; may be repeated", collect, []);
}

function collect(word: string, before: readonly string[]): readonly string[] {
  return [...before, word];
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new InvalidArgumentError("It is no port.");
  return port;
}
