/*
 * Put before a process by `--import`, with `--expose-gc`: SIGUSR2 collects garbage and moves together what is left, so that
 * what is measured is what is held, and not what happens to be uncollected, or free but not given back.
 */
process.on("SIGUSR2", () => {
  globalThis.gc?.({ type: "major", execution: "sync", flavor: "last-resort" });
});
