import { describe, expect, test } from "vitest";
import type { FigureSpec } from "./bench.ts";
import { toFigure, worsened, type Figures } from "./figures.ts";
import { medianOf, quantileOf } from "./statistics.ts";

const SPEC: FigureSpec = { name: "get", title: "", unit: "µs", target: { kind: "at most", score: 1.5 } };
const RATE: FigureSpec = { name: "create", title: "", unit: "/s", target: { kind: "at least", score: 0.7 } };

const runOf = (...figures: Figures["figures"]): Figures => ({
  command: "",
  at: "",
  form: "quick",
  machine: { cpus: 2, model: "", node: "", load: [0, 0] },
  figures,
});

test("a median and a quantile are values that were measured, or the middle of two", () => {
  expect(medianOf([5, 1, 3])).toBe(3);
  expect(medianOf([4, 1, 2, 3])).toBe(2.5);
  expect(quantileOf([3, 1, 2, 4], 0.99)).toBe(4);
  expect(quantileOf([3, 1, 2, 4], 0.5)).toBe(2);
});

test("a figure's score is the median of its rounds' own ratios, not the ratio of medians", () => {
  const figure = toFigure(SPEC, [
    { ours: 10, anchor: 10 },
    { ours: 40, anchor: 20 },
    { ours: 30, anchor: 10 },
  ]);
  expect(figure).toMatchObject({ score: 2, scoreSpread: [1, 3], ours: 30, anchor: 10, isMet: false });
});

describe("the guard", () => {
  const kept = runOf(toFigure(SPEC, [{ ours: 10, anchor: 10 }]), toFigure(RATE, [{ ours: 80, anchor: 100 }]));

  test("says nothing of what is better, or worse within its tolerance", () => {
    const now = runOf(
      toFigure(SPEC, [{ ours: 12.9, anchor: 10 }]),
      toFigure(RATE, [{ ours: 90, anchor: 100 }]),
    );
    expect(worsened(kept, now, 0.3)).toEqual([]);
  });

  test("names a cost that has grown and a rate that has fallen", () => {
    const now = runOf(
      toFigure(SPEC, [{ ours: 14, anchor: 10 }]),
      toFigure(RATE, [{ ours: 50, anchor: 100 }]),
    );
    expect(worsened(kept, now, 0.3).map(({ name }) => name)).toEqual(["get", "create"]);
  });

  test("does not tell scores under a figure's floor apart", () => {
    const spec: FigureSpec = { ...SPEC, guardFloor: 2 };
    const before = runOf(toFigure(spec, [{ ours: 1, anchor: 10 }]));
    expect(worsened(before, runOf(toFigure(spec, [{ ours: 19, anchor: 10 }])), 0.3)).toEqual([]);
    expect(worsened(before, runOf(toFigure(spec, [{ ours: 27, anchor: 10 }])), 0.3)).toHaveLength(1);
  });
});
