import { runCommand } from "./run-command.ts";

/** What Docker runs where the machine has no server of its own. */
const IMAGE = "redis:7.4-bookworm";

/**
 * The image to run, once a Docker engine on this machine answers and has it, or could pull it; undefined otherwise.
 * An engine on another machine is passed over: its ports and folders are not ours.
 */
export async function prepareContainerImage(say: (line: string) => void): Promise<string | undefined> {
  const host = process.env["DOCKER_HOST"];
  if (host !== undefined && host !== "" && !host.startsWith("unix:") && !host.startsWith("npipe:"))
    return undefined;
  const engine = await runCommand("docker", ["version", "--format", "{{.Server.Version}}"], {
    timeoutMs: 5_000,
  });
  if (!engine.ok) return undefined;
  const present = await runCommand("docker", ["image", "inspect", IMAGE], { timeoutMs: 10_000 });
  if (present.ok) return IMAGE;
  say(`No Redis on this machine: pulling the image ${IMAGE}`);
  const pulled = await runCommand("docker", ["pull", "--quiet", IMAGE], { timeoutMs: 180_000 });
  return pulled.ok ? IMAGE : undefined;
}
