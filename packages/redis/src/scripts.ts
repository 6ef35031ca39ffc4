import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RedisClient } from "./connections.ts";
import type { CommandLink } from "./command-link.ts";

/** The scripts of `lua/`, and what each unpacks from ARGV. The loader compares these with the scripts themselves. */
const ARGUMENTS = {
  create: [
    "status",
    "tenant",
    "principal",
    "scopes",
    "method",
    "params",
    "tool",
    "capabilities",
    "prepared",
    "ttlMs",
    "pollIntervalMs",
    "rewakeMs",
    "maxOpen",
    "digest",
  ],
  answer: ["op", "principal", "from", "to", "rewakeMs"],
  cancel: ["op", "principal", "from", "to", "reason", "retentionMs"],
  claim: ["claim", "from", "leaseMs", "maxCrashes", "maxRunning", "slotMs"],
  heartbeat: ["op", "claim", "epoch", "leaseMs"],
  "record-step": ["claim", "epoch", "name", "value"],
  progress: ["op", "claim", "epoch", "message"],
  extend: ["op", "claim", "epoch", "ms"],
  park: ["op", "claim", "epoch", "from", "to", "rewakeMs", "requests"],
  release: ["op", "claim", "epoch", "reason", "failed", "delayMs", "message", "rewakeMs"],
  settle: ["op", "claim", "epoch", "from", "to", "result", "error", "message", "retentionMs"],
  "take-due": ["limit", "holdMs"],
  rouse: ["op", "from", "to", "failed", "rewakeMs", "maxCrashes", "retentionMs"],
  expire: ["op", "from", "to", "error", "message", "retentionMs", "tombstoneMs"],
  "take-rate": ["tenantRate", "principalRate"],
  "pin-layout": ["version", "shards"],
  "look-at-queue": [],
} as const satisfies Record<string, readonly string[]>;

/** The file name of a script, without `.lua`. */
export type ScriptName = keyof typeof ARGUMENTS;

/** The names of all scripts. */
export const SCRIPT_NAMES: readonly string[] = Object.keys(ARGUMENTS);

/** A text as it is, or a number, which is rounded up to a whole one. */
export type ScriptValue = string | number;

/** One run of a script: its keys in the order of its header, its arguments by name, and what comes after them. */
export interface ScriptRun<Name extends ScriptName> {
  readonly keys: readonly string[];
  readonly args: Readonly<Record<(typeof ARGUMENTS)[Name][number], ScriptValue>>;
  readonly rest?: readonly ScriptValue[];
  /** How long it may take, where that is shorter than the link's own limit. */
  readonly limitMs?: number;
}

/** Runs scripts; each is one atomic step. Replies come as Redis gives them; errors as a {@link CommandLink} gives them. */
export interface Scripts {
  run<Name extends ScriptName>(name: Name, run: ScriptRun<Name>): Promise<unknown>;
}

/** How scripts are loaded. */
export interface LoadOptions {
  /** Has each script tell the stream `{sNN}:audit` what it did to the record (`lua/prelude/audit.lua`). */
  readonly isAudited?: boolean;
}

/** Reads `lua/` and gives its scripts on the link. They survive `SCRIPT FLUSH` and a server that never saw them. */
export function loadScripts(link: CommandLink, { isAudited = false }: LoadOptions = {}): Scripts {
  const prelude = PRELUDES.map(readLua).flatMap(definitionsOf);
  const loaded = new Map<string, LoadedScript>();
  for (const [name, names] of Object.entries(ARGUMENTS)) {
    const lua = readLua(name);
    assertUnpacks(name, lua, names);
    const text = withWhatItNeeds(isAudited ? audited(name, lua, names) : lua, prelude);
    loaded.set(name, { names, text, sha: createHash("sha1").update(text).digest("hex") });
  }

  return {
    run(name, { keys, args, rest = [], limitMs }) {
      const script = loaded.get(name);
      if (script === undefined) throw new TypeError(`No script ${name}`);
      const named: Readonly<Record<string, ScriptValue>> = args;
      const values: string[] = [...keys];
      for (const argument of script.names) values.push(toArgument(named[argument] ?? ""));
      for (const value of rest) values.push(toArgument(value));
      return link.call((redis) => evaluate(redis, script, { keyCount: keys.length, values }), limitMs);
    },
  };
}

interface LoadedScript {
  readonly names: readonly string[];
  readonly text: string;
  readonly sha: string;
}

const PRELUDES = ["prelude/read", "prelude/slots", "prelude/write"];
const LUA = new URL("../lua/", import.meta.url);

function readLua(name: string): string {
  return readFileSync(new URL(`${name}.lua`, LUA), "utf8");
}

interface Definition {
  readonly names: readonly string[];
  readonly text: string;
}

/** The locals of a prelude, each with its text, in their order. */
function definitionsOf(lua: string): Definition[] {
  const code = lua.replaceAll(/^--\[\[.*?^\]\]\n/gms, "").replaceAll(/^--.*\n/gm, "");
  return code
    .split(/^(?=local )/m)
    .filter((text) => text.trim() !== "")
    .map((text) => ({ text, names: namesDefinedBy(text) }));
}

function namesDefinedBy(definition: string): string[] {
  const [, called, listed = ""] = /^local (?:function (\w+)|([\w, ]+?) =)/.exec(definition) ?? [];
  return called === undefined ? listed.split(", ") : [called];
}

/** Redis makes a function of each `local function` at each run: a script pays only for those that it comes to call. */
function withWhatItNeeds(lua: string, prelude: readonly Definition[]): string {
  return prelude.reduceRight(
    (text, definition) =>
      definition.names.some((name) => new RegExp(`\\b${name}\\b`).test(text)) ? definition.text + text : text,
    lua,
  );
}

/** What the audit tells of a script's arguments. */
const TOLD = new Set(["op", "claim", "epoch", "name"]);

/** The script as a function, and after it what looks at the record before and after. */
function audited(name: string, lua: string, names: readonly string[]): string {
  const said = names.flatMap((argument, at) => (TOLD.has(argument) ? [`${argument} = ARGV[${at + 1}]`] : []));
  return [
    `local SCRIPT, SAID = "${name}", { ${said.join(", ")} }`,
    `local function step()\n${lua}\nend`,
    readLua("prelude/audit"),
  ].join("\n");
}

/** Holds the table above and the line `local a, b = unpack(ARGV, 1, 2)` of a script together. */
function assertUnpacks(name: string, lua: string, names: readonly string[]): void {
  const [, locals = "", count = ""] = /^local ([\w, ]+?)\s*=\s+unpack\(ARGV, 1, (\d+)\)$/m.exec(lua) ?? [];
  if (locals !== names.join(", ") || Number(count) !== names.length) {
    throw new TypeError(`lua/${name}.lua does not unpack ${names.join(", ")}`);
  }
}

function toArgument(value: ScriptValue): string {
  if (typeof value === "string") return value;
  if (!Number.isFinite(value)) throw new RangeError(`A script takes no ${value}`);
  return String(Math.ceil(value));
}

/** The keys, and then the arguments. */
interface ScriptInput {
  readonly keyCount: number;
  readonly values: readonly string[];
}

/** A script that the server does not know has run nothing: sending its text then runs it once. */
function evaluate(redis: RedisClient, script: LoadedScript, sent: ScriptInput): Promise<unknown> {
  const { keyCount, values } = sent;
  return redis.evalsha(script.sha, keyCount, ...values).catch((error: unknown) => {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return redis.eval(script.text, keyCount, ...values);
  });
}
