import type { Second } from "./timeline.ts";

/** Something that was done to the cluster while the load ran. Seconds since the start. */
export interface Fault {
  readonly name: string;
  readonly at: number;
  /** When it was taken back: a killed process was started again. */
  readonly until?: number;
}

/** A fault, and how long it was felt. */
export interface FeltFault extends Fault {
  /** Seconds from the fault until the load is as it was; 0 when it was not felt; none when it was not seen to recover. */
  readonly recoverSeconds?: number;
}

const BEFORE_SECONDS = 5;
const STEADY_SECONDS = 2;
const ENOUGH = 0.8;

/**
 * How long a fault was felt: until the first second from which on, two seconds long, no request failed and tasks ended at
 * 0.8 of the pace of the five seconds before the fault. Only as exact as a second.
 */
export function feltFaults(faults: readonly Fault[], seconds: readonly Second[]): readonly FeltFault[] {
  return faults.map((fault) => {
    const second = Math.floor(fault.at);
    const pace = ENOUGH * mean(seconds.slice(Math.max(0, second - BEFORE_SECONDS), second));
    for (let at = second; at + STEADY_SECONDS <= seconds.length; at += 1) {
      const stretch = seconds.slice(at, at + STEADY_SECONDS);
      const isSteady = stretch.every(({ failedRequests }) => failedRequests === 0) && mean(stretch) >= pace;
      if (isSteady) return { ...fault, recoverSeconds: at === second ? 0 : at - fault.at };
    }
    return fault;
  });
}

function mean(seconds: readonly Second[]): number {
  if (seconds.length === 0) return 0;
  return seconds.reduce((total, { completed }) => total + completed, 0) / seconds.length;
}
