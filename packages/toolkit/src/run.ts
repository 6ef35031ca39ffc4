import { setImmediate } from "node:timers";
import { BrokenRule, RunEnded } from "./errors.ts";
import type { InputRequest, RunOutcome } from "./run-host.ts";

/** How any run may end, whatever its function is for. */
export type CommonOutcome = Extract<RunOutcome, { kind: "failed" | "waiting" | "stopped" }>;

/** A sleep that a run waits for. */
export interface Sleep {
  readonly name: string;
  readonly durationMs: number;
}

/** What the context of a run stands on, whatever the run is for. */
export interface RunScope {
  /** False once the run has ended or is closing. */
  readonly isOpen: () => boolean;
  /** Aborted when the run ends, in whatever way. */
  readonly signal: AbortSignal;
  /** Ends the run as failed, since the tool broke a rule, and gives the error to throw. */
  readonly broken: (message: string) => BrokenRule;
  /**
   * A method of the context. It rejects once the run is not open. Its promise may be left alone by the tool:
   * that is no unhandled rejection.
   */
  readonly method: <Value>(name: string, body: () => Promise<Value>) => Promise<Value>;
  /** What `work` gives or throws, as long as the run is open when it does; nothing is heard of it after. */
  readonly whileOpen: <Value>(work: Promise<Value>) => Promise<Value>;
  /** Counts `work` as something that can move the run on without input or time. */
  readonly inFlight: <Value>(work: Promise<Value>) => Promise<Value>;
  /** Waits for the client's answer: pending as long as this run lasts. */
  readonly awaitAnswer: (request: InputRequest) => Promise<never>;
  /** Waits for a time: pending as long as this run lasts. */
  readonly awaitTime: (sleep: Sleep) => Promise<never>;
}

/**
 * One run of an author's function, from the top to its outcome. The first ending wins, and after it nothing counts.
 *
 *     open ──► waiting      nothing in flight, something asked, and the event loop has come to rest
 *      │ ├───► stopped      the signal, or a record that could not be kept
 *      │ └───► …            the function returned, threw, or broke a rule
 *      └─► closing ──► retry, once the steps in flight have been kept
 */
export interface Run<Outcome> extends RunScope {
  readonly outcome: Promise<Outcome | CommonOutcome>;
  /** True once nothing more is kept. */
  readonly hasEnded: () => boolean;
  readonly end: (outcome: Outcome | CommonOutcome) => void;
  /** Lets what is in flight be kept, then ends. Nothing new may begin. */
  readonly close: (outcome: Outcome) => void;
}

/** The event loop is at rest when this many turns passed without a call of the tool or an end of its work. */
const QUIET_TURNS = 2;

/** An open run. It ends as "stopped" when `signal` is aborted. */
export function createRun<Outcome>(signal: AbortSignal): Run<Outcome> {
  let resolve: (how: Outcome | CommonOutcome) => void;
  const outcome = new Promise<Outcome | CommonOutcome>((settle) => {
    resolve = settle;
  });
  const requests: InputRequest[] = [];
  const sleeps: Sleep[] = [];
  /** Made for the first who asks: most tools never look at the signal. */
  let over: AbortController | undefined;
  let state: "open" | "closing" | "ended" = "open";
  let closingWith: Outcome | undefined;
  let worksInFlight = 0;
  /** One more at each sign of life. */
  let pulse = 0;
  let isWatching = false;

  const end = (how: Outcome | CommonOutcome): void => {
    if (state === "ended") return;
    state = "ended";
    signal.removeEventListener("abort", stop);
    resolve(how);
    if (over) tellOf(over);
  };
  const tellOf = (ended: AbortController): void =>
    ended.abort(signal.aborted ? signal.reason : new RunEnded("The run has ended"));
  const stop = (): void => end({ kind: "stopped" });
  const close = (how: Outcome): void => {
    if (state !== "open") return;
    state = "closing";
    closingWith = how;
    endWhenKept();
  };
  const endWhenKept = (): void => {
    if (state === "closing" && worksInFlight === 0 && closingWith !== undefined) end(closingWith);
  };

  const isWaiting = (): boolean => requests.length + sleeps.length > 0;
  const watch = (): void => {
    if (isWatching || !isWaiting()) return;
    isWatching = true;
    let seen = pulse;
    let quietTurns = 0;
    const look = (): void => {
      if (state !== "open" || worksInFlight > 0) {
        isWatching = false;
        return;
      }
      quietTurns = pulse === seen ? quietTurns + 1 : 0;
      seen = pulse;
      if (quietTurns < QUIET_TURNS) setImmediate(look);
      else end({ kind: "waiting", requests, sleeps });
    };
    setImmediate(look);
  };
  const beat = (): void => {
    pulse += 1;
    watch();
  };
  const wait = (): Promise<never> => {
    beat();
    return pending();
  };

  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });

  return {
    outcome,
    isOpen: () => state === "open",
    hasEnded: () => state === "ended",
    get signal() {
      if (over) return over.signal;
      over = new AbortController();
      if (state === "ended") tellOf(over);
      return over.signal;
    },
    end,
    close,
    broken(message) {
      const error = new BrokenRule(message);
      end({ kind: "failed", error: { code: -32603, message }, cause: error });
      return error;
    },
    method(name, body) {
      if (state === "open") {
        beat();
        return handled(body());
      }
      return handled(Promise.reject(new RunEnded(`${name} was called after the run had ended`)));
    },
    async whileOpen(work) {
      const end = await settled(work);
      beat();
      return state === "open" ? end() : pending();
    },
    inFlight(work) {
      worksInFlight += 1;
      return work.finally(() => {
        worksInFlight -= 1;
        endWhenKept();
        beat();
      });
    },
    awaitAnswer(request) {
      requests.push(request);
      return wait();
    },
    awaitTime(sleep) {
      sleeps.push(sleep);
      return wait();
    },
  };
}

/** What a promise came to, to be had later. */
function settled<Value>(promise: Promise<Value>): Promise<() => Value> {
  return promise.then(
    (value) => () => value,
    (error: unknown) => () => {
      throw error;
    },
  );
}

function pending(): Promise<never> {
  return new Promise<never>(() => {});
}

function handled<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => {});
  return promise;
}
