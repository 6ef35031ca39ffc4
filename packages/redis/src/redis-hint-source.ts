import { TASK_STATUSES } from "@perdure/tasks";
import type { Hint, HintSource } from "@perdure/tasks";
import type { Redis } from "ioredis";
import { z } from "zod";
import type { CommandLink } from "./command-link.ts";
import type { Keys } from "./keys.ts";

/** The subscriber connection of a process, how to name channels, and who is told of troubles. */
export interface HintSourceDeps {
  readonly redis: Redis;
  readonly link: CommandLink;
  readonly keys: Keys;
  readonly onError: (error: Error) => void;
}

interface Channel {
  readonly listeners: Set<{ readonly onHint: (hint: Hint) => void }>;
  subscribed?: Promise<unknown> | undefined;
}

/** A silent connection is asked this often whether it still lives. */
const PING_MS = 5000;

/** Hints over one pub/sub connection. A channel is subscribed to while anyone listens for its tenant. */
export function createRedisHintSource({ redis, link, keys, onError }: HintSourceDeps): HintSource {
  const channels = new Map<string, Channel>();
  const lossListeners = new Set<{ readonly onLoss: () => void }>();
  let isStarted = false;
  let isFirst = true;
  let pings: NodeJS.Timeout | undefined;

  const report = (error: unknown): void => onError(error instanceof Error ? error : new Error(String(error)));

  redis.on("message", (channel: string, message: string) => {
    const hint = parseHint(message);
    if (hint === undefined) return;
    for (const { onHint } of channels.get(channel)?.listeners ?? []) {
      try {
        onHint(hint);
      } catch (error) {
        report(error);
      }
    }
  });

  redis.on("ready", () => {
    const isReconnect = !isFirst;
    isFirst = false;
    if (isReconnect) subscribeAgain().catch(report);
  });

  /** When this fails the connection is gone again, and the next one comes here too. */
  const subscribeAgain = async (): Promise<void> => {
    if (channels.size > 0) await redis.subscribe(...channels.keys());
    for (const { onLoss } of lossListeners) onLoss();
  };

  const leave = (name: string): void => {
    channels.delete(name);
    // A connection that is down has no subscriptions to end.
    if (redis.status === "ready") redis.unsubscribe(name).catch(report);
  };

  return {
    async start() {
      if (isStarted) return;
      isStarted = true;
      redis.connect().catch(report);
      try {
        await link.call((connected) => connected.ping());
      } catch (error) {
        isStarted = false;
        redis.disconnect();
        throw error;
      }
      pings = setInterval(() => {
        link.call((connected) => connected.ping()).catch(report);
      }, PING_MS).unref();
    },

    async stop() {
      isStarted = false;
      clearInterval(pings);
      channels.clear();
      lossListeners.clear();
      redis.disconnect();
    },

    async listen(tenantRef, onHint) {
      const name = keys.hints(tenantRef);
      const channel: Channel = channels.get(name) ?? { listeners: new Set() };
      channels.set(name, channel);
      const listener = { onHint };
      channel.listeners.add(listener);
      const end = (): void => {
        const wasListening = channel.listeners.delete(listener);
        if (wasListening && channel.listeners.size === 0 && channels.get(name) === channel) leave(name);
      };
      channel.subscribed ??= link.call((connected) => connected.subscribe(name));
      try {
        await channel.subscribed;
      } catch (error) {
        channel.subscribed = undefined;
        end();
        throw error;
      }
      return end;
    },

    onReconnect(onLoss) {
      const listener = { onLoss };
      lossListeners.add(listener);
      return () => {
        lossListeners.delete(listener);
      };
    },
  };
}

const hintParts = z.tuple([
  z.string().min(1),
  z.string().regex(/^\d+$/).transform(Number),
  z.enum(TASK_STATUSES),
]);

/** `taskId|ver|status`; undefined for a message that is none: anybody may publish. */
function parseHint(message: string): Hint | undefined {
  const parsed = hintParts.safeParse(message.split("|"));
  if (!parsed.success) return undefined;
  const [taskId, ver, status] = parsed.data;
  return { taskId, ver, status };
}
