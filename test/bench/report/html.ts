import type { Figure, Figures } from "../figures.ts";
import { shown } from "./numbers.ts";

/** The figures as a page that needs nothing else: two bars each, and where the target is. */
export function presentHtml(run: Figures): string {
  const { machine, command, at } = run;
  const [before, after] = machine.load.map((load) => load.toFixed(1));
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Perdure: figures</title>
<meta name="viewport" content="width=device-width">
<style>
  :root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
  body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  section { margin: 1.6rem 0 }
  h2 { font-size: 1rem; margin: 0 }
  .bar { display: grid; grid-template-columns: 15rem 1fr 8rem; gap: .6rem; align-items: center }
  .bar span:last-child { text-align: right; font-variant-numeric: tabular-nums }
  .fill { height: .8rem; border-radius: .2rem; background: #94a3b8 }
  .ours { background: #2563eb }
  .met { color: #15803d } .missed { color: #b91c1c }
  p { margin: .2rem 0; opacity: .8 }
</style>
<h1>Perdure: figures</h1>
<p><code>${escapeHtml(command)}</code> · ${escapeHtml(at)} · ${machine.cpus} × ${escapeHtml(machine.model)} · Node ${machine.node} · load ${before} → ${after}</p>
${run.figures.map(sectionOf).join("\n")}
</html>
`;
}

function sectionOf(figure: Figure): string {
  const {
    title,
    unit,
    ours,
    anchor,
    anchorTitle = "",
    score,
    scoreSpread,
    scoreUnit,
    target,
    isMet,
  } = figure;
  const largest = Math.max(ours, anchor ?? 0, anchor === undefined ? (target?.score ?? 0) : 0);
  const bar = (label: string, value: number, kind: string): string => {
    const width = Math.max(0.5, (100 * Math.max(value, 0)) / largest);
    return `<div class="bar"><span>${escapeHtml(label)}</span><div class="fill ${kind}" style="width:${width.toFixed(1)}%"></div><span>${shown(value)} ${escapeHtml(unit)}</span></div>`;
  };
  const judged =
    target === undefined
      ? ""
      : ` · target ${target.kind} ${shown(target.score)} · <b class="${isMet ? "met" : "missed"}">${isMet ? "met" : "missed"}</b>`;
  return `<section><h2>${escapeHtml(title)}</h2>
${bar("Perdure", ours, "ours")}
${anchor === undefined ? (target ? bar("target", target.score, "") : "") : bar(anchorTitle, anchor, "")}
<p>${shown(score)} ${escapeHtml(scoreUnit)} (${scoreSpread.map(shown).join(" – ")})${judged}</p></section>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
