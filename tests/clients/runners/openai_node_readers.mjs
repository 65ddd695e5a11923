// Programs around the openai SDK for Node, as people write them; for any version of it.

import OpenAI from "openai";

/** Returns the SDK for the provider at `url`. No retries: they wait and hide errors. */
export function at(url) {
  return new OpenAI({
    apiKey: "made-up",
    baseURL: url,
    maxRetries: 0,
    timeout: 10_000,
    logLevel: "off",
  });
}

/** Returns the tool calls of a whole message. */
function callsOf(message) {
  return (message.tool_calls ?? []).map((call) => [
    call.id,
    call.type,
    call.function?.name,
    call.function?.arguments,
  ]);
}

/** Reports a whole answer. */
export function noteWhole(completion, outcome) {
  outcome.choices = completion.choices.map(({ message, finish_reason, logprobs }) => ({
    role: message.role,
    text: message.content,
    reasoning: message.reasoning_content ?? message.reasoning,
    refusal: message.refusal,
    calls: callsOf(message),
    finish: finish_reason,
    logprobs: logprobs?.content,
  }));
  outcome.usage = completion.usage;
}

/** Adds a fragment of a tool call to those with its index. */
function join(calls, { index, id, function: said }) {
  const seen = (calls[index] ??= { id: "", name: "", arguments: "" });
  if (id) seen.id = id;
  seen.name += said?.name ?? "";
  seen.arguments += said?.arguments ?? "";
}

/** Reads as the documentation says: tests everything, joins fragments by index. */
export async function careful(url, request, { outcome, events }) {
  const answer = await at(url).chat.completions.create(request);
  if (!request.stream) {
    noteWhole(answer, outcome);
    return;
  }
  outcome.choices = {};
  for await (const chunk of answer) {
    if (chunk.usage) {
      outcome.usage = chunk.usage;
      events.push("usage");
    }
    for (const { index, delta, finish_reason, logprobs } of chunk.choices ?? []) {
      const choice = (outcome.choices[index] ??= {
        text: "",
        reasoning: "",
        refusal: "",
        calls: {},
        logprobs: [],
      });
      if (delta?.content) {
        choice.text += delta.content;
        events.push(["text", delta.content]);
      }
      const thought = delta?.reasoning_content ?? delta?.reasoning;
      if (thought) {
        choice.reasoning += thought;
        events.push(["reasoning", thought]);
      }
      if (delta?.refusal) {
        choice.refusal += delta.refusal;
        events.push(["refusal", delta.refusal]);
      }
      for (const call of delta?.tool_calls ?? []) {
        join(choice.calls, call);
        events.push(["call", call.index, call.function?.arguments]);
      }
      choice.logprobs.push(...(logprobs?.content ?? []));
      if (finish_reason) {
        choice.finish = finish_reason;
        events.push(["finish", finish_reason]);
      }
    }
  }
}

/** Reads as the README does: one line. */
export async function readme(url, request, { outcome, events }) {
  const answer = await at(url).chat.completions.create(request);
  outcome.text = "";
  if (!request.stream) {
    outcome.text = answer.choices[0]?.message?.content;
    return;
  }
  for await (const chunk of answer) {
    const text = chunk.choices[0]?.delta?.content || "";
    outcome.text += text;
    events.push(text);
  }
}

/** Reads with the SDK's event runner, `parse()` for a whole answer. */
export async function runner(completions, request, { outcome, events }) {
  const { stream, ...asked } = request;
  if (!stream) {
    noteWhole(await completions.parse(asked), outcome);
    return;
  }
  const done = (outcome.done = []);
  const running = completions
    .stream(asked)
    .on("content", (text) => events.push(["text", text]))
    .on("content.done", ({ content }) => done.push(["text", content]))
    .on("refusal.delta", ({ delta }) => events.push(["refusal", delta]))
    .on("refusal.done", ({ refusal }) => done.push(["refusal", refusal]))
    .on("logprobs.content.delta", ({ content }) => events.push(["logprobs", content]))
    .on("tool_calls.function.arguments.delta", ({ index, arguments_delta }) =>
      events.push(["call", index, arguments_delta]),
    )
    .on("tool_calls.function.arguments.done", (call) =>
      done.push(["call", call.index, call.name, call.arguments, call.parsed_arguments]),
    )
    .on("functionToolCall", (call) => done.push(["function", call]));
  noteWhole(await running.finalChatCompletion(), outcome);
}
