import { WireError } from "./wire-error.ts";

/** For tests: the {@link WireError} that `act` throws. Fails when it throws nothing or anything else. */
export function refusalOf(act: () => unknown): WireError {
  try {
    act();
  } catch (error) {
    if (error instanceof WireError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
