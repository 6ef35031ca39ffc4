/** How many to do, and how many of them at a time. */
export interface InFlight {
  readonly count: number;
  readonly inFlight: number;
}

/** Does one thing so many times and gives the seconds that all took. */
export async function doInFlight(
  { count, inFlight }: InFlight,
  doOne: () => Promise<unknown>,
): Promise<number> {
  const startedMs = performance.now();
  let begun = 0;
  const lane = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await doOne();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return (performance.now() - startedMs) / 1000;
}
