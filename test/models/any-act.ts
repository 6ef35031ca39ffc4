import * as fc from "fast-check";

/** What somebody does: one of two workers, a client, a stranger, the reconciler, or time. */
export type Act =
  | { readonly act: "create" | "rouse" | "expire" }
  | { readonly act: "read" | "cancel"; readonly by: string }
  | { readonly act: "answer"; readonly by: string; readonly answers: readonly (readonly [string, string])[] }
  | { readonly act: "claim" | "beat" | "progress" | "shutDown" | "crash"; readonly worker: 0 | 1 }
  | { readonly act: "extend"; readonly worker: 0 | 1; readonly ticks: number }
  | { readonly act: "step"; readonly worker: 0 | 1; readonly name: string; readonly value: string }
  | {
      readonly act: "park";
      readonly worker: 0 | 1;
      readonly requests: readonly (readonly [string, string])[];
      readonly sleeps: readonly (readonly [string, number])[];
    }
  | { readonly act: "retry"; readonly worker: 0 | 1; readonly failed: string; readonly ticks: number }
  | {
      readonly act: "settle";
      readonly worker: 0 | 1;
      readonly status: "completed" | "failed" | "cancelled";
    }
  | { readonly act: "pass"; readonly ticks: number }
  /** The operation so many before is sent again. */
  | { readonly act: "resend"; readonly back: number };

/** Operations so many back are surely remembered. */
const RESENT_WITHIN = 5;

const worker = fc.constantFrom(0 as const, 1 as const);
const by = fc.oneof({ weight: 6, arbitrary: fc.constant("alice") }, fc.constant("mallory"));
const name = fc.constantFrom("outline", "draft");
const key = fc.constantFrom("a", "b");
const asked = fc.uniqueArray(fc.tuple(key, fc.constant('{"n":1.0}')), { maxLength: 2, selector: ([k]) => k });
const askedAnew = fc.tuple(key, fc.constantFrom('{"n":1.0}', '{"n":[]}')).map((pair) => [pair]);
const sleeps = fc.uniqueArray(fc.tuple(name, fc.constantFrom(0, 30, 100)), {
  maxLength: 2,
  selector: ([n]) => n,
});
const park = (requests: fc.Arbitrary<(readonly [string, string])[]>) =>
  fc.record({ act: fc.constant("park" as const), worker, requests, sleeps });

/** Any of them, those oftener that lead further. */
export const anyAct: fc.Arbitrary<Act> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ act: fc.constant("create" as const) }) },
  { weight: 6, arbitrary: fc.record({ act: fc.constant("rouse" as const) }) },
  { weight: 3, arbitrary: fc.record({ act: fc.constant("expire" as const) }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("read" as const), by }) },
  { weight: 1, arbitrary: fc.record({ act: fc.constant("cancel" as const), by }) },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant("answer" as const),
      by,
      answers: fc.uniqueArray(fc.tuple(key, fc.constantFrom("{}", "[1.0]")), {
        maxLength: 2,
        selector: ([k]) => k,
      }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ act: fc.constant("claim" as const), worker }) },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constantFrom("beat", "progress", "shutDown", "crash"),
      worker,
    }),
  },
  {
    // Not whole ticks, so that it never ends together with anything else.
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("extend" as const),
      worker,
      ticks: fc.constantFrom(100.3, 700.2),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("step" as const),
      worker,
      name,
      value: fc.constantFrom("[]", "1.0"),
    }),
  },
  { weight: 7, arbitrary: park(asked) },
  { weight: 4, arbitrary: park(askedAnew) },
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant("retry" as const),
      worker,
      failed: fc.constantFrom("", "outline"),
      ticks: fc.constantFrom(0, 30),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant("settle" as const),
      worker,
      status: fc.constantFrom("completed", "failed", "cancelled"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      act: fc.constant("pass" as const),
      ticks: fc.constantFrom(10, 30, 60, 60, 60, 60, 60, 600),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant("resend" as const),
      back: fc.integer({ min: 0, max: RESENT_WITHIN - 1 }),
    }),
  },
);
