import { randomUUID } from "node:crypto";
import { registerHooks } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { z } from "zod";

const namespaceSchema = z.record(z.string(), z.unknown());
const notFoundSchema = z.object({
  code: z.enum(["ERR_MODULE_NOT_FOUND", "ERR_PACKAGE_PATH_NOT_EXPORTED"]),
  message: z.string(),
});

/**
 * A module's exports. `specifier` is a path from `baseDir`, a `file:` URL, or a package: the one that is installed for
 * `baseDir`, else the one that is installed for this package.
 */
export async function importModule(
  specifier: string,
  baseDir: string,
): Promise<Readonly<Record<string, unknown>>> {
  if (specifier.startsWith("file:")) return exportsOf(await import(specifier));
  if (specifier.startsWith(".") || isAbsolute(specifier))
    return exportsOf(await import(pathToFileURL(resolve(baseDir, specifier)).href));
  return exportsOf((await importFrom(specifier, baseDir)) ?? (await import(specifier)));
}

/** `import(specifier)` as a file in `baseDir` would do it; undefined when there is no such package for it. */
async function importFrom(specifier: string, baseDir: string): Promise<unknown> {
  const place = join(baseDir, "perdure-tools.js");
  const token = `perdure-tools:${randomUUID()}`;
  let isResolving = false;
  const hooks = registerHooks({
    resolve(asked, context, next) {
      if (asked !== token) return next(asked, context);
      isResolving = true;
      return next(specifier, { ...context, parentURL: pathToFileURL(place).href });
    },
  });
  try {
    return await import(token);
  } catch (error) {
    // A test runner with a loader of its own does not know the token.
    if (!isResolving) return undefined;
    const notFound = notFoundSchema.safeParse(error);
    if (notFound.success && notFound.data.message.includes(place)) return undefined;
    throw error;
  } finally {
    hooks.deregister();
  }
}

function exportsOf(namespace: unknown): Readonly<Record<string, unknown>> {
  return namespaceSchema.parse({ ...Object(namespace) });
}
