import { expect, test } from "vitest";
import { followTask } from "./follow-task.ts";
import { type McpClient, type ServerMessage, ServerUnavailable } from "./mcp-client.ts";

const taskId = "Yk3vQm0b1Zr8sWc5dXeJ7uHt";

const stateOf = (status: string): ServerMessage => ({
  method: "notifications/tasks",
  params: { taskId, status, lastUpdatedAt: "2026-12-01T10:30:00.000Z" },
});

/** A client whose streams, one after the other, give messages and then break with an error. */
function clientOf(...streams: readonly (readonly (ServerMessage | Error)[])[]): McpClient {
  const left = [...streams];
  return {
    async *messages() {
      for (const next of left.shift() ?? []) {
        if (next instanceof Error) throw next;
        yield next;
      }
    },
    call: () => Promise.reject(new Error("Nothing is called")),
  };
}

const follow = async (client: McpClient): Promise<readonly string[]> => {
  const seen: string[] = [];
  await followTask(client, taskId, {
    onChange: ({ status }) => void seen.push(status),
    answer: () => Promise.resolve({}),
  });
  return seen;
};

test("a task is followed over a stream that breaks and a server that is away for a moment", async () => {
  const client = clientOf(
    [stateOf("working"), new TypeError("terminated")],
    [new ServerUnavailable("No server answers")],
    [stateOf("completed")],
  );
  expect(await follow(client)).toEqual(["working", "completed"]);
});

test("an answer that could not be sent is sent again, and its question is not asked twice", async () => {
  const asking = stateOf("input_required");
  const state = { ...asking, params: { ...asking.params, inputRequests: { approve: {} } } };
  const sent: unknown[] = [];
  let asked = 0;
  const client = clientOf([state], [state], [stateOf("completed")]);
  const call: McpClient["call"] = async ({ params }) => {
    sent.push(params?.["inputResponses"]);
    if (sent.length === 1) throw new ServerUnavailable("No server answers");
    return { resultType: "complete" };
  };
  await followTask({ ...client, call }, taskId, {
    onChange: () => {},
    answer: () => Promise.resolve({ approve: { action: "accept", nth: (asked += 1) } }),
  });
  const first = { approve: { action: "accept", nth: 1 } };
  expect({ asked, sent }).toEqual({ asked: 1, sent: [first, first] });
});

test("a server that is away from the beginning is an error at once", async () => {
  await expect(follow(clientOf([new ServerUnavailable("No server answers")]))).rejects.toThrow(
    "No server answers",
  );
});

test("what the server should not say is an error, not a reason to ask again", async () => {
  await expect(follow(clientOf([stateOf("working"), stateOf("unheard of")]))).rejects.toThrow("status");
});
