import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { type RawClientDispatch, createTaskSessionFromClient } from "@modelcontextprotocol/ext-tasks/client";
import type { TaskEnabledSession, WithTasksOptions } from "@modelcontextprotocol/ext-tasks/client";
import { type Json, type TestIdentity, type Cluster, createWireClient } from "@perdure/testkit";
import { z } from "zod";

const VERSION = "2026-07-28";
const TASKS = { "io.modelcontextprotocol/tasks": {} };

/** Which replica, as whom, and whether the client says that it can hold tasks (default: yes). */
export interface ConnectOptions extends TestIdentity {
  readonly replica?: number;
  readonly hasTasks?: boolean;
  /** Answers each form that is asked for in a call. */
  readonly answer?: (message: string) => Readonly<Record<string, string | boolean>>;
}

/** The official TypeScript client, connected, with all that it says and hears over HTTP as it is. */
export async function connectClient(cluster: Cluster, options: ConnectOptions = {}): Promise<Client> {
  const { replica = 0, hasTasks = true, answer, ...identity } = options;
  const client = new Client(
    { name: "perdure-tests", version: "0" },
    {
      versionNegotiation: { mode: { pin: VERSION } },
      capabilities: { elicitation: { form: {} }, ...(hasTasks && { extensions: TASKS }) },
    },
  );
  if (answer)
    client.setRequestHandler("elicitation/create", ({ params }) => ({
      action: "accept",
      content: answer(params.message),
    }));
  const transport = new StreamableHTTPClientTransport(new URL(cluster.replicas[replica]?.url ?? ""), {
    requestInit: { headers: { authorization: `Bearer ${await cluster.token(identity)}` } },
  });
  await client.connect(transport);
  return client;
}

/** A session of the official tasks client on a replica. All sessions share one endpoint: the deployment's. */
export interface ConnectedSession extends AsyncDisposable {
  readonly session: TaskEnabledSession;
  readonly client: Client;
  /** Methods that the session has sent by itself, in order. */
  readonly sent: readonly string[];
}

const json = z.record(z.string(), z.unknown());
const rawRequest = z.object({ method: z.string(), params: json });

/** Connects the official tasks client. `onInputRequest` answers what a call or a task asks. */
export async function connectSession(
  cluster: Cluster,
  options: ConnectOptions & Pick<WithTasksOptions, "onInputRequest"> = {},
): Promise<ConnectedSession> {
  const { replica = 0, onInputRequest, ...identity } = options;
  const client = await connectClient(cluster, options);
  const wire = createWireClient({
    url: cluster.replicas[replica]?.url ?? "",
    token: await cluster.token(identity),
  });
  const sent: string[] = [];
  const rawDispatch: RawClientDispatch = async (request, { signal, context } = {}) => {
    const { method, params } = rawRequest.parse(request);
    sent.push(method);
    const { _meta: meta, ...rest } = params;
    const reply = await wire.post(method, rest, {
      meta: json.parse(meta),
      ...(signal && { signal }),
      ...(context?.headers && { headers: context.headers }),
    });
    if (reply.error) return { kind: "error", error: z.custom<ErrorBody>().parse(reply.error) };
    return { kind: "result", result: z.json().parse(reply.result) };
  };
  const session = createTaskSessionFromClient(client, {
    endpointId: "perdure-tests",
    rawDispatch,
    v2RequestFraming: {
      protocolVersion: VERSION,
      clientInfo: { name: "perdure-tests", version: "0" },
      clientCapabilities: { elicitation: { form: {} } },
    },
    ...(onInputRequest && { onInputRequest }),
  });
  return {
    session,
    client,
    sent,
    async [Symbol.asyncDispose]() {
      await session.close();
      await client.close();
    },
  };
}

type ErrorBody = Extract<Awaited<ReturnType<RawClientDispatch>>, { kind: "error" }>["error"];

/** A request of the official client whose result has no schema in it. */
export async function request(client: Client, method: string, params: Json): Promise<Json> {
  return json.parse(await client.request({ method, params: { ...params } }, z.json()));
}
