/** Milliseconds of a clock that all processes of this machine share and that never goes back. */
export function sharedMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
