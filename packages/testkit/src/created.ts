import type { CreateReply, Created } from "@perdure/tasks";

/** The reply of a creation that must have gone well; anything else is an error that says what came. */
export function created(reply: CreateReply): Created {
  if (reply.verdict !== "created") throw new Error(`Expected a task, got "${reply.verdict}"`);
  return reply;
}
