/** Numbers that follow from a seed alone. */
export interface Random {
  /** 0 up to 1. */
  next(): number;
  /** A whole number from `least` to `most`, both possible. */
  between(least: number, most: number): number;
  /** True with that probability. */
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  shuffle<Item>(items: readonly Item[]): Item[];
  /** Numbers of their own for one purpose: who else draws, and when, changes nothing for it. */
  fork(purpose: string): Random;
}

/** The {@link Random} of a seed: mulberry32, which is good enough to choose faults by. */
export function createRandom(seed: number | string): Random {
  const text = String(seed);
  let state = hash(text);
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const between = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));

  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick(items) {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new RangeError("There is nothing to pick from");
      return item;
    },
    shuffle(items) {
      const left = [...items];
      return items.map(() => left.splice(between(0, left.length - 1), 1)[0]!);
    },
    fork: (purpose) => createRandom(`${text}/${purpose}`),
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193);
  return value | 0;
}
