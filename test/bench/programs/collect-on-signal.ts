/*
 * Put before a process by `--import`, with `--expose-gc`: SIGUSR2 collects garbage, so that what is measured is what is held,
 * and not what happens to be uncollected.
 */
process.on("SIGUSR2", () => {
  globalThis.gc?.();
});
