import { MOVES, mintNonce } from "@perdure/tasks";
import type { Claim, Move, Settlement, TaskLeases, TaskRef, WakeUp } from "@perdure/tasks";
import { z } from "zod";
import { claimedFields, toClaimedTask } from "./record.ts";
import type { RedisStore } from "./redis-store.ts";
import { fenced, parseReply, verdict, whole, written } from "./replies.ts";

const claimReply = z.union([
  z.tuple([z.literal("claimed"), whole, claimedFields, z.literal([0, 1])]),
  verdict("throttled"),
  verdict("held"),
  verdict("parked"),
  verdict("terminal"),
  verdict("overdue"),
  verdict("unknown"),
]);

const queued = z.tuple([z.literal("queued"), whole, whole, whole]);

const parkReply = z.union([
  verdict("parked"),
  queued,
  z.tuple([z.literal("conflict"), z.string()]).transform(([verdict, key]) => ({ verdict, key })),
  fenced,
]);

const releaseReply = z.union([verdict("released"), queued, fenced]);

/** The worker's side of the record on Redis. Each method is one script. */
export function createRedisTaskLeases({ scripts, keys, policy }: RedisStore): TaskLeases {
  const { leaseMs, maxCrashes, rewakeMs, retentionMs } = policy;

  return {
    async claim(ref) {
      const reply = await scripts.run("claim", {
        keys: keys.ofTask(ref),
        // Whoever can complete a task may run it.
        args: {
          claim: mintNonce(),
          from: MOVES.complete.from.join(","),
          leaseMs,
          maxCrashes,
          maxRunning: policy.tenantMaxRunning,
          slotMs: SLOT_MS,
        },
      });
      const parsed = parseReply("claim", claimReply, reply);
      if (!Array.isArray(parsed)) return parsed;
      const [, nowMs, fields, tookOver] = parsed;
      return { verdict: "claimed", task: toClaimedTask(ref, nowMs, fields), tookOver: tookOver === 1 };
    },

    async heartbeat(claim) {
      const reply = await scripts.run("heartbeat", {
        keys: keys.ofTask(claim.ref),
        args: { op: mintNonce(), ...fence(claim), leaseMs },
      });
      return parseReply("heartbeat", written, reply);
    },

    async recordStep(claim, name, value) {
      const reply = await scripts.run("record-step", {
        keys: keys.ofTask(claim.ref),
        args: { ...fence(claim), name, value },
      });
      return parseReply("record-step", written, reply);
    },

    async progress(claim, message) {
      const reply = await scripts.run("progress", {
        keys: keys.ofTask(claim.ref),
        args: { op: mintNonce(), ...fence(claim), message },
      });
      return parseReply("progress", written, reply);
    },

    async extend(claim, ms) {
      const reply = await scripts.run("extend", {
        keys: keys.ofTask(claim.ref),
        args: { op: mintNonce(), ...fence(claim), ms },
      });
      return parseReply("extend", written, reply);
    },

    async park(claim, { requests, sleeps }) {
      const reply = await scripts.run("park", {
        keys: keys.ofTask(claim.ref),
        args: {
          op: mintNonce(),
          ...fence(claim),
          from: MOVES.ask.from.join(","),
          to: MOVES.ask.to,
          rewakeMs,
          requests: requests.length,
        },
        rest: [
          ...requests.flatMap(({ key, request }) => [key, request]),
          ...sleeps.flatMap(({ name, durationMs }) => [name, durationMs]),
        ],
      });
      const parsed = parseReply("park", parkReply, reply);
      if (!Array.isArray(parsed)) return parsed;
      return { verdict: "parked", wakeUp: wakeUpOf(claim.ref, parsed) };
    },

    async release(claim, release) {
      const retry =
        release.reason === "retry"
          ? { failed: release.failed, delayMs: release.delayMs, message: release.message }
          : { failed: "", delayMs: 0, message: "" };
      const reply = await scripts.run("release", {
        keys: keys.ofTask(claim.ref),
        args: { op: mintNonce(), ...fence(claim), reason: release.reason, ...retry, rewakeMs },
      });
      const parsed = parseReply("release", releaseReply, reply);
      if (!Array.isArray(parsed)) return parsed;
      return { verdict: "released", wakeUp: wakeUpOf(claim.ref, parsed) };
    },

    async settle(claim, settlement) {
      const move = MOVE_OF[settlement.status];
      const reply = await scripts.run("settle", {
        keys: keys.ofTask(claim.ref),
        args: {
          op: mintNonce(),
          ...fence(claim),
          from: move.from.join(","),
          to: move.to,
          result: settlement.status === "completed" ? settlement.result : "",
          error: settlement.status === "failed" ? settlement.error : "",
          message: settlement.statusMessage ?? "",
          retentionMs,
        },
      });
      return parseReply("settle", written, reply);
    },
  };
}

/** A task that waits for one of its tenant's slots is looked at when one is free, and after this long anyway. Milliseconds. */
const SLOT_MS = 60_000;

const MOVE_OF: Readonly<Record<Settlement["status"], Move>> = {
  completed: MOVES.complete,
  failed: MOVES.fail,
  cancelled: MOVES.cancel,
};

function fence({ claimId, epoch }: Claim): { claim: string; epoch: number } {
  return { claim: claimId, epoch };
}

function wakeUpOf(ref: TaskRef, [, wake, epoch, depth]: z.output<typeof queued>): WakeUp {
  return { ref, wake, epoch, depth };
}
