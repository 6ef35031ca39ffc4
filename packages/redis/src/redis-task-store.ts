import { MOVES, TASK_STATUSES, TaskStoreError, mintNonce, tenantRefOf } from "@perdure/tasks";
import type { CreateReply, ReadReply, TaskAddress, TaskRef, TaskStore } from "@perdure/tasks";
import { z } from "zod";
import { createAdmission } from "./admission.ts";
import { READ_FIELDS, toSnapshot } from "./record.ts";
import { absent, parseReply, verdict, whole } from "./replies.ts";
import type { RedisStore } from "./redis-store.ts";

const createReply = z.union([
  z.tuple([z.literal("created"), whole, whole]),
  z.tuple([z.literal("existing"), z.string()]),
  verdict("conflict"),
  verdict("limited"),
]);

const answerReply = z.union([
  z.tuple([z.literal("accepted"), z.array(z.string())]),
  z.tuple([z.literal("resumed"), z.array(z.string()), whole, whole, whole]),
  absent,
]);

const cancelReply = z.union([
  verdict("cancelled"),
  z
    .tuple([z.literal("terminal"), z.enum(TASK_STATUSES)])
    .transform(([verdict, status]) => ({ verdict, status })),
  absent,
]);

/** What the second step of one request may take, so that both together are within what a client may wait. */
const SECOND_STEP_MS = 300;

/** The client's side of the record on Redis. Each method is one round trip. */
export function createRedisTaskStore({ link, scripts, keys, policy }: RedisStore): TaskStore {
  const { rewakeMs, retentionMs } = policy;
  const admission = createAdmission(link);

  const read = async ({ owner, taskId }: TaskAddress, limitMs?: number): Promise<ReadReply> => {
    const key = keys.record({ tenantRef: tenantRefOf(owner.tenant), taskId });
    const values = await link.call((redis) => redis.hmget(key, ...READ_FIELDS), limitMs);
    const [principal, expired] = values;
    if (principal !== owner.principal) return { verdict: "unknown" };
    if (expired !== null) return { verdict: "expired" };
    return { verdict: "found", snapshot: toSnapshot(taskId, values) };
  };

  const existing = async (address: TaskAddress): Promise<CreateReply> => {
    const found = await read(address, SECOND_STEP_MS);
    if (found.verdict === "found") return { verdict: "existing", snapshot: found.snapshot };
    // It was removed between the two steps, and its idempotency key with it.
    throw new TaskStoreError(
      "store_unknown_outcome",
      "The task of this idempotency key has just been removed",
    );
  };

  return {
    async create({ taskId, owner, scopes, prepared = "", ttlMs, pollIntervalMs, ...asAsked }) {
      await admission.assertRoom();
      const ref = { tenantRef: tenantRefOf(owner.tenant), taskId };
      const { idempotency } = asAsked;
      const sameAs =
        idempotency && keys.sameAs(ref.tenantRef, JSON.stringify([owner.principal, idempotency.key]));
      const reply = await scripts.run("create", {
        keys: [...keys.ofTask(ref), ...(sameAs === undefined ? [] : [sameAs])],
        args: {
          status: MOVES.create.to,
          ...owner,
          scopes: JSON.stringify(scopes),
          method: asAsked.method,
          params: asAsked.params,
          tool: asAsked.tool,
          capabilities: asAsked.capabilities,
          prepared,
          ttlMs,
          pollIntervalMs,
          rewakeMs,
          maxOpen: policy.tenantMaxOpen,
          digest: idempotency?.digest ?? "",
        },
      });
      const parsed = parseReply("create", createReply, reply);
      if (!Array.isArray(parsed)) {
        return parsed.verdict === "limited" ? { verdict: "limited", maxOpen: policy.tenantMaxOpen } : parsed;
      }
      if (parsed[0] === "existing") return existing({ owner, taskId: parsed[1] });
      const [, createdAtMs, depth] = parsed;
      return {
        verdict: "created",
        snapshot: {
          taskId,
          status: MOVES.create.to,
          createdAtMs,
          lastUpdatedAtMs: createdAtMs,
          ttlMs: Math.ceil(ttlMs),
          pollIntervalMs: Math.ceil(pollIntervalMs),
          ver: 1,
        },
        wakeUp: { ref, wake: 1, epoch: 0, depth },
      };
    },

    read: (address) => read(address),

    async answer(address, answers) {
      const ref = refOf(address);
      const reply = await scripts.run("answer", {
        keys: keys.ofTask(ref),
        args: {
          op: mintNonce(),
          principal: address.owner.principal,
          from: MOVES.resume.from.join(","),
          to: MOVES.resume.to,
          rewakeMs,
        },
        rest: answers.flatMap(({ key, response }) => [key, response]),
      });
      const parsed = parseReply("answer", answerReply, reply);
      if (!Array.isArray(parsed)) return parsed;
      if (parsed[0] === "accepted") return { verdict: "accepted", applied: parsed[1] };
      const [, applied, wake, epoch, depth] = parsed;
      return { verdict: "accepted", applied, wakeUp: { ref, wake, epoch, depth } };
    },

    async cancel(address, reason) {
      const reply = await scripts.run("cancel", {
        keys: keys.ofTask(refOf(address)),
        args: {
          op: mintNonce(),
          principal: address.owner.principal,
          from: MOVES.cancel.from.join(","),
          to: MOVES.cancel.to,
          reason,
          retentionMs,
        },
      });
      return parseReply("cancel", cancelReply, reply);
    },
  };
}

function refOf({ owner, taskId }: TaskAddress): TaskRef {
  return { tenantRef: tenantRefOf(owner.tenant), taskId };
}
