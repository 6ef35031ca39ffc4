import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { kubernetesTools, output } from "./tools.ts";

/** A way to a Service from this machine. */
export interface Forward {
  /** Its address here, without a path. */
  readonly url: string;
  stop(): void;
}

/** `kubectl` in one namespace of the cluster that KUBECONFIG names. */
export interface Kubectl {
  /** Runs a command and gives what it printed. Throws a `CommandError` with what it said, or after `timeoutMs` (default 60 s). */
  run(
    args: readonly string[],
    options?: { readonly input?: string; readonly timeoutMs?: number },
  ): Promise<string>;
  /** Resolves once connections are taken. */
  forward(service: string, port: number): Promise<Forward>;
}

/** What is aborted ends the command in hand. */
export async function createKubectl(namespace: string, signal: AbortSignal): Promise<Kubectl> {
  const { kubectl: file } = await kubernetesTools();
  const own = ["--namespace", namespace];
  return {
    run: (args, { input, timeoutMs = 60_000 } = {}) =>
      output({
        file,
        args: [...own, ...args],
        timeout: timeoutMs,
        signal,
        ...(input !== undefined && { input }),
      }),
    async forward(service, port) {
      const child = spawn(file, [...own, "port-forward", `service/${service}`, `:${port}`], {
        stdio: ["ignore", "pipe", "inherit"],
        signal,
      });
      child.on("error", () => {});
      return { url: await forwardedTo(child), stop: () => void child.kill() };
    },
  };
}

/** kubectl says: "Forwarding from 127.0.0.1:40123 -> 3000". */
async function forwardedTo(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error("kubectl port-forward has no output");
  for await (const line of createInterface({ input: child.stdout })) {
    const address = /Forwarding from (127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (address !== undefined) {
      child.stdout.resume();
      return `http://${address}`;
    }
  }
  throw new Error("kubectl port-forward ended before it forwarded");
}
