import { MissingCapability, defineTool } from "@perdure/toolkit";
import type { CallContext, SampleAnswer } from "@perdure/toolkit";
import { z } from "zod";

/* Tools that ask in the call: the client answers and sends the call again (MRTR, SEP-2322). */

const named = z.object({ name: z.string() });
const ok = z.object({ ok: z.boolean() });

/** Asks a person. */
export const inputElicitation = defineTool({
  name: "test_input_required_result_elicitation",
  description: "Asks for a name.",
  async run(_, call) {
    const answer = await askName(call);
    return answer.action === "accept" ? `Hello, ${answer.content.name}!` : "Hello, whoever you are!";
  },
});

/** Asks the client's model. */
export const inputSampling = defineTool({
  name: "test_input_required_result_sampling",
  description: "Asks the client's model a question.",
  run: async (_, call) => textOf(await askCapital(call)),
});

/** Asks for the client's roots. */
export const inputListRoots = defineTool({
  name: "test_input_required_result_list_roots",
  description: "Asks for the client's roots.",
  run: async (_, call) => `Roots: ${(await call.roots("client_roots")).map((root) => root.uri).join(", ")}`,
});

/** The state that the server gave must come back with the answer. */
export const inputRequestState = defineTool({
  name: "test_input_required_result_request_state",
  description: "Asks for a confirmation and checks the state that comes back.",
  async run(_, call) {
    const answer = await call.elicit("confirm", { message: "Please confirm", schema: ok });
    return `state-ok (${answer.action})`;
  },
});

/** As above; what comes back changed is refused before the tool runs. */
export const inputTamperedState = defineTool({
  name: "test_input_required_result_tampered_state",
  description: "Asks for a confirmation; a changed state is refused.",
  async run(_, call) {
    const answer = await call.elicit("confirm", { message: "Please confirm", schema: ok });
    return `Confirmed: ${answer.action}`;
  },
});

/** Three questions of three kinds at once. */
export const inputMultiple = defineTool({
  name: "test_input_required_result_multiple_inputs",
  description: "Asks a person, the client's model and for the client's roots, all at once.",
  async run(_, call) {
    const [name, greeting, roots] = await Promise.all([
      askName(call),
      call.sample("greeting", {
        messages: [{ role: "user", content: { type: "text", text: "Generate a greeting" } }],
        maxTokens: 50,
      }),
      call.roots("client_roots"),
    ]);
    const who = name.action === "accept" ? name.content.name : "whoever you are";
    return `${textOf(greeting)} ${who}, with ${roots.length} roots`;
  },
});

/** Two questions, one after the other. */
export const inputMultiRound = defineTool({
  name: "test_input_required_result_multi_round",
  description: "Asks for a name, then for a colour.",
  async run(_, call) {
    const name = await call.elicit("step1", { message: "Step 1: What is your name?", schema: named });
    if (name.action !== "accept") return "No name, no colour";
    const color = await call.elicit("step2", {
      message: "Step 2: What is your favorite color?",
      schema: z.object({ color: z.string() }),
    });
    return color.action === "accept" ? `${name.content.name} likes ${color.content.color}` : "No colour";
  },
});

/** Asks for what the client can give, and goes on without the rest. */
export const inputCapabilities = defineTool({
  name: "test_input_required_result_capabilities",
  description: "Asks a person and the client's model, whichever the client has.",
  async run(_, call) {
    const [name, capital] = await Promise.all([ifAble(askName(call)), ifAble(askCapital(call))]);
    return `Person: ${name?.action ?? "nobody to ask"}. Model: ${capital ? textOf(capital) : "none to ask"}.`;
  },
});

function askName(call: CallContext) {
  return call.elicit("user_name", { message: "What is your name?", schema: named });
}

function askCapital(call: CallContext): Promise<SampleAnswer> {
  return call.sample("capital_question", {
    messages: [{ role: "user", content: { type: "text", text: "What is the capital of France?" } }],
    maxTokens: 100,
  });
}

async function ifAble<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof MissingCapability) return undefined;
    throw error;
  }
}

const textContent = z.object({ type: z.literal("text"), text: z.string() });

function textOf(answer: SampleAnswer): string {
  const content = z
    .union([textContent.transform((part) => [part]), z.array(textContent)])
    .safeParse(answer.content);
  return content.success ? content.data.map((part) => part.text).join("\n") : "(not a text)";
}
