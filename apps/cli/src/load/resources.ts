/** What one process used, at a moment. */
export interface Usage {
  readonly role: string;
  /** Cores, over the time since the sample before. */
  readonly cpu: number;
  readonly memoryBytes: number;
}

/** What all processes of a role used together, at a moment. `at` in seconds since the start. */
export interface RoleUsage {
  readonly at: number;
  readonly role: string;
  readonly processes: number;
  readonly cpu: number;
  readonly memoryBytes: number;
}

/** Where `/metrics` is asked for; looked up again for each sample, as processes come and go. */
export type OpsUrls = () => readonly string[] | Promise<readonly string[]>;

/** Looks at processes through their ops ports. */
export interface ResourceWatch {
  readonly samples: readonly RoleUsage[];
  /** Takes a sample, unless one is being taken. A process that does not answer is left out of it. */
  sample(at: number): Promise<void>;
}

const TIMEOUT_MS = 1500;

/** A {@link ResourceWatch}; nothing is asked before the first `sample`. */
export function watchResources(urls: OpsUrls): ResourceWatch {
  const samples: RoleUsage[] = [];
  const before = new Map<string, { readonly cpuSeconds: number; readonly at: number }>();

  const look = async (url: string, at: number): Promise<Usage | undefined> => {
    try {
      const response = await fetch(new URL("/metrics", url), { signal: AbortSignal.timeout(TIMEOUT_MS) });
      const seen = readUsage(await response.text());
      if (seen === undefined) return undefined;
      const last = before.get(url);
      before.set(url, { cpuSeconds: seen.cpuSeconds, at });
      // A process that was started anew counts from 0 again.
      const isSame = last !== undefined && seen.cpuSeconds >= last.cpuSeconds && at > last.at;
      const cpu = isSame ? (seen.cpuSeconds - last.cpuSeconds) / (at - last.at) : 0;
      return { role: seen.role, cpu, memoryBytes: seen.memoryBytes };
    } catch {
      return undefined;
    }
  };

  const sample = async (at: number): Promise<void> => {
    const usages = await Promise.all((await urls()).map((url) => look(url, at)));
    const answered = usages.filter((usage) => usage !== undefined);
    samples.push(...byRole(answered, at));
  };

  let sampling: Promise<void> | undefined;
  return {
    samples,
    sample: (at) =>
      (sampling ??= sample(at).finally(() => {
        sampling = undefined;
      })),
  };
}

/** Adds up the processes of each role. */
export function byRole(usages: readonly Usage[], at: number): readonly RoleUsage[] {
  const roles = Map.groupBy(usages, ({ role }) => role);
  return [...roles].map(([role, all]) => ({
    at,
    role,
    processes: all.length,
    cpu: all.reduce((total, { cpu }) => total + cpu, 0),
    memoryBytes: all.reduce((total, { memoryBytes }) => total + memoryBytes, 0),
  }));
}

/** Reads the text of `/metrics`; nothing when it is not that of a process of ours. */
export function readUsage(
  text: string,
): { readonly role: string; readonly cpuSeconds: number; readonly memoryBytes: number } | undefined {
  const cpu = /^process_cpu_seconds_total\{[^}]*role="(\w+)"[^}]*\} (\S+)/m.exec(text);
  const memory = /^process_resident_memory_bytes(?:\{[^}]*\})? (\S+)/m.exec(text);
  if (!cpu?.[1] || !memory) return undefined;
  return { role: cpu[1], cpuSeconds: Number(cpu[2]), memoryBytes: Number(memory[1]) };
}
