import manifest from "../package.json" with { type: "json" };

/** The version of Perdure that runs, as in `serverInfo`. */
export const VERSION: string = manifest.version;
