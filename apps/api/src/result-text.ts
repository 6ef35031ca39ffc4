import { META, isJsonObject } from "@perdure/protocol";
import type { JsonObject } from "@perdure/protocol";

/** Writes results, each with its `resultType` and the server's identity (MCP basic/index §Per-response protocol fields). */
export interface ResultText {
  /** A complete result. `members` and `metaMembers` are JSON members without braces, perhaps none. */
  complete(members: string, metaMembers?: string): string;
  /** A result of any type: `"task"`, `"input_required"`. */
  ofType(resultType: string, members: string): string;
  /** A complete result of an object that may have a `_meta` of its own. */
  completeObject(result: JsonObject): string;
}

/** A {@link ResultText} for one server's name and version. */
export function createResultText(server: { readonly name: string; readonly version: string }): ResultText {
  const serverInfo = { name: server.name, version: server.version };
  const identity = `"${META.serverInfo}":${JSON.stringify(serverInfo)}`;
  const write = (resultType: string, members: string, metaMembers = ""): string =>
    `{"resultType":"${resultType}","_meta":{${identity}${prefixed(metaMembers)}}${prefixed(members)}}`;

  return {
    complete: (members, metaMembers) => write("complete", members, metaMembers),
    ofType: (resultType, members) => write(resultType, members),
    completeObject(result) {
      const { _meta: meta, ...rest } = result;
      const own = isJsonObject(meta) ? meta : {};
      return JSON.stringify({
        ...rest,
        resultType: "complete",
        _meta: { ...own, [META.serverInfo]: serverInfo },
      });
    },
  };
}

function prefixed(members: string): string {
  return members === "" ? "" : `,${members}`;
}
