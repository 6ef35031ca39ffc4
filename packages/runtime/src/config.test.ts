import { describe, expect, test } from "vitest";
import { ConfigError } from "./config-error.ts";
import { parseConfig, type ParseOptions } from "./config.ts";
import { isLoopback } from "./listen-host.ts";
import { describeConfig } from "./describe-config.ts";
import { VARIABLES } from "./variables.ts";

function problemOf(env: Record<string, string>, options?: ParseOptions): ConfigError {
  try {
    parseConfig(env, options);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error(`${JSON.stringify(env)} was accepted`);
}

describe("the configuration", () => {
  test("an empty environment gives the defaults", () => {
    const config = parseConfig({});
    expect(config).toMatchObject({ port: 3000, host: "127.0.0.1", opsPort: 9400, dataDir: ".perdure" });
    expect(config).toMatchObject({ durability: "durable", leaseMs: 10_000, auth: "jwt", secrets: [] });
    expect(config.tools).toEqual(["@perdure/demo-tools"]);
    expect(config.algorithms).toEqual(["ES256", "EdDSA", "RS256", "PS256"]);
  });

  test("an empty or blank variable counts as unset", () => {
    expect(parseConfig({ PERDURE_PORT: "", PERDURE_AUDIENCE: "  ", PERDURE_ISSUER: "" })).toEqual(
      parseConfig({}),
    );
  });

  test("a list is split at commas, blanks apart", () => {
    expect(parseConfig({ PERDURE_TOOLS: " a , ./b.ts," }).tools).toEqual(["a", "./b.ts"]);
  });

  test.each(VARIABLES.map((variable) => [variable.name, variable] as const))(
    "the example and the default of %s are accepted",
    (name, { example, default: fallback, field }) => {
      expect(parseConfig({ [name]: example })[field]).toBeDefined();
      expect(parseConfig({ [name]: fallback ?? "" })).toEqual(parseConfig({}));
    },
  );

  test.each([
    ["PERDURE_PORT", "abc"],
    ["PERDURE_PORT", "70000"],
    ["PERDURE_PORT", "80.5"],
    ["PERDURE_PORT", "-1"],
    ["PERDURE_LEASE_MS", "999"],
    ["PERDURE_LEASE_MS", "10s"],
    ["PERDURE_RESYNC_MS", "15001"],
    ["PERDURE_DURABILITY", "forever"],
    ["PERDURE_ALGORITHMS", "ES256,HS256"],
    ["PERDURE_ALGORITHMS", "none"],
    ["PERDURE_TOOLS", ","],
    ["PERDURE_REDIS_URL", "localhost:6379"],
    ["PERDURE_PUBLIC_URL", "mcp.example.com/mcp"],
    ["PERDURE_ALLOWED_ORIGINS", "https://a.example/path"],
    ["PERDURE_ALLOWED_HOSTS", "https://a.example"],
    ["PERDURE_SECRET", "short"],
    ["PERDURE_LOG_LEVEL", "loud\nand clear"],
  ])("%s=%j is refused in one line that names the variable and an example", (name, value) => {
    const error = problemOf({ [name]: value });
    expect(error).toMatchObject({ code: "config_invalid", variable: name });
    expect(error.message).toMatch(new RegExp(`^${name}: .*; for example ${name}=.+$`));
    expect(error.message).not.toContain("\n");
  });

  test("a refused secret is not shown", () => {
    expect(problemOf({ PERDURE_SECRET: "hunter2" }).message).not.toContain("hunter2");
    expect(problemOf({ PERDURE_REDIS_URL: "http://:hunter2@host" }).message).not.toContain("hunter2");
  });

  test("an unknown name is refused with the nearest known one", () => {
    const error = problemOf({ PERDURE_REDIS_ULR: "x" });
    expect(error.message).toBe(
      "PERDURE_REDIS_ULR: there is no such variable; did you mean PERDURE_REDIS_URL?",
    );
    expect(problemOf({ PERDURE_SOMETHING_ELSE: "x" }).message).toContain("perdure config");
  });

  test("variables that Kubernetes sets for a Service called perdure are passed over, but for one of our names", () => {
    parseConfig({ PERDURE_SERVICE_HOST: "10.0.0.1", PERDURE_PORT_3000_TCP_ADDR: "10.0.0.1" });
    parseConfig({ PERDURE_API_PORT: "tcp://10.0.0.1:3000", PERDURE_API_SERVICE_PORT_HTTP: "3000" });
    expect(problemOf({ PERDURE_PORT: "tcp://10.0.0.1:3000" }).message).toContain("enableServiceLinks: false");
  });
});

describe("values that do not go together", () => {
  test("open mode is refused on an address that others can reach", () => {
    for (const host of ["0.0.0.0", "10.0.0.7", "mcp.example.com", "127.0.0.1.example.com"]) {
      expect(problemOf({ PERDURE_AUTH: "open", PERDURE_HOST: host }).variable).toBe("PERDURE_AUTH");
    }
    for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "[::1]"]) {
      expect(parseConfig({ PERDURE_AUTH: "open", PERDURE_HOST: host }).auth).toBe("open");
      expect(isLoopback(host)).toBe(true);
    }
  });

  test("a replica that checks tokens needs an issuer, an audience and a key set; a worker does not", () => {
    const env = { PERDURE_ISSUER: "i", PERDURE_AUDIENCE: "a", PERDURE_JWKS: "./jwks.json" };
    expect(parseConfig(env, { role: "api" }).issuer).toBe("i");
    for (const name of Object.keys(env)) {
      expect(problemOf({ ...env, [name]: "" }, { role: "api" }).variable).toBe(name);
    }
    expect(parseConfig({}, { role: "worker" }).issuer).toBeUndefined();
    expect(parseConfig({ PERDURE_AUTH: "open" }, { role: "api" }).auth).toBe("open");
  });

  test.each([
    [{ PERDURE_PORT: "9400" }, "PERDURE_OPS_PORT"],
    [{ PERDURE_POLL_INTERVAL_MS: "2000", PERDURE_TASK_TTL_MS: "1000" }, "PERDURE_POLL_INTERVAL_MS"],
    [{ PERDURE_KEEP_ALIVE_MS: "5000", PERDURE_LISTEN_MAX_AGE_MS: "1000" }, "PERDURE_KEEP_ALIVE_MS"],
  ])("%j is refused", (env, variable) => {
    expect(problemOf(env).variable).toBe(variable);
  });
});

describe("the description", () => {
  test("it has one line for each variable, with its effective value", () => {
    const lines = describeConfig(parseConfig({ PERDURE_TOOLS: "a,b", PERDURE_PORT: "8080" }));
    expect(lines.map((line) => line.split("=")[0])).toEqual(VARIABLES.map(({ name }) => name));
    expect(lines).toContain("PERDURE_PORT=8080");
    expect(lines).toContain("PERDURE_TOOLS=a,b");
    expect(lines).toContain("PERDURE_ISSUER=");
  });

  test("Redis is one, behind Sentinels or a Cluster, and nothing else", () => {
    const redisUrlOf = (PERDURE_REDIS_URL: string) => parseConfig({ PERDURE_REDIS_URL }).redisUrl;
    for (const url of [
      "rediss://app:secret@redis.internal:6380/2",
      "redis+sentinel://:secret@one:26379,[::1]:26379,two/mymaster/0?sentinelPassword=secret",
      "rediss+cluster://app:secret@one:7000,two",
    ]) {
      expect(redisUrlOf(url)).toBe(url);
      expect(describeConfig(parseConfig({ PERDURE_REDIS_URL: url })).join()).not.toContain("secret");
    }
    for (const url of ["redis+sentinel://:secret@one", "redis+cluster://one/0", "redis+cluster://one:x"])
      expect(() => redisUrlOf(url)).toThrow(/^PERDURE_REDIS_URL: the value (?!.*secret)/);
  });

  test("secrets and passwords are masked", () => {
    const secret = "0123456789abcdef0123456789abcdef";
    const text = describeConfig(
      parseConfig({
        PERDURE_SECRET: `${secret},${secret.toUpperCase()}`,
        PERDURE_REDIS_URL: "rediss://app:hun%2Fter2@redis.internal:6380/0?password=hunter3&family=4",
        PERDURE_JWKS: "https://reader:hunter4@login.example.com/keys",
      }),
    ).join("\n");
    expect(text).toContain("PERDURE_SECRET=***,***\n");
    expect(text).toContain(
      "PERDURE_REDIS_URL=rediss://app:***@redis.internal:6380/0?password=***&family=4\n",
    );
    expect(text).toContain("PERDURE_JWKS=https://reader:***@login.example.com/keys\n");
    expect(text).not.toMatch(/hunter|hun%2F|0123456789abcdef/i);
  });

  test("what it prints is a configuration again", () => {
    const config = parseConfig({ PERDURE_TOOLS: "a,b", PERDURE_DURABILITY: "fast" });
    const env = Object.fromEntries(
      describeConfig(config).map((line) => [line.split("=")[0] ?? "", line.slice(line.indexOf("=") + 1)]),
    );
    expect(parseConfig(env)).toEqual(config);
  });
});
