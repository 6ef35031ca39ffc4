import { readFileSync } from "node:fs";
import { createMetrics } from "@perdure/runtime";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";

/* The dashboard and the alert rules name what a process really tells: an expression over a name that is not there is silent. */

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const { groups } = parse(read("deploy/monitoring/alerts.yml"));
const alerts: readonly { alert: string; expr: string }[] = groups.flatMap(
  (group: { rules: unknown }) => group.rules,
);
const dashboard: { panels: readonly { title: string; targets?: readonly { expr: string }[] }[] } = JSON.parse(
  read("deploy/monitoring/dashboard.json"),
);

const expressions: readonly (readonly [string, string])[] = [
  ...alerts.map(({ alert, expr }) => [`alert ${alert}`, expr] as const),
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => [`panel ${title}`, expr] as const),
  ),
];

const told = new Map(
  createMetrics({ role: "api" })
    .registry.getMetricsAsArray()
    .map((metric) => [metric.name, z.object({ labelNames: z.array(z.string()) }).parse(metric).labelNames]),
);

/** Labels that a scrape adds, and `role`, which every sample has. */
const ALWAYS = ["role", "instance", "job", "le"];
const WORDS = new Set("sum max min by rate increase histogram_quantile absent without and or on".split(" "));

/** What is wrong with the names in an expression. */
function problemsOf(expr: string): readonly string[] {
  const problems: string[] = [];
  const labels = new Set(ALWAYS);
  const bare = expr.replaceAll(/"[^"]*"/g, '""').replaceAll(/\[[^\]]*\]/g, "");
  const names = [...bare.replaceAll(/\{[^}]*\}|by \([^)]*\)/g, "").matchAll(/[a-z_]\w*/g)].map(
    ([name]) => name,
  );
  for (const name of names.filter((name) => !WORDS.has(name) && name !== "up")) {
    const own = told.get(name) ?? told.get(name.replace(/_(?:bucket|sum|count)$/, ""));
    if (!own) problems.push(`no metric ${name}`);
    for (const label of own ?? []) labels.add(label);
  }
  const matched = [...bare.matchAll(/\{([^}]*)\}|by \(([^)]*)\)/g)].flatMap(([, matchers, by]) =>
    (matchers ?? by ?? "").split(",").map((text) => text.trim().split(/[=!]/)[0] ?? ""),
  );
  for (const label of matched) if (!labels.has(label)) problems.push(`no label ${label}`);
  return problems;
}

test.each(expressions)("%s asks for names and labels that exist", (_name, expr) => {
  expect(problemsOf(expr)).toEqual([]);
});

test("a name or a label that is not told is found", () => {
  expect(problemsOf('sum by (tool) (rate(perdure_requests_total{code="5"}[5m]))')).toEqual([
    "no metric perdure_requests_total",
    "no label tool",
    "no label code",
  ]);
});

test("every metric of ours is on the dashboard", () => {
  const shown = expressions
    .filter(([name]) => name.startsWith("panel"))
    .map(([, expr]) => expr)
    .join("\n");
  const ours = [...told.keys()].filter((name) => name.startsWith("perdure_"));
  expect(ours.filter((name) => !shown.includes(name))).toEqual([]);
});

describe("docs/operating.md", () => {
  const [, section = ""] = read("docs/operating.md").split("\n## Alerts\n");

  test.each(alerts.map(({ alert }) => alert))("says what %s means and what to do", (alert) => {
    expect(section).toContain(`\`${alert}\``);
  });

  test("names no metric that is not told", () => {
    const named = section.match(/perdure_[a-z_]+/g) ?? [];
    expect(named.filter((name) => !told.has(name))).toEqual([]);
  });
});
