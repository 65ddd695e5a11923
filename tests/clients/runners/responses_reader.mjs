// A tool loop by Responses, as people write it with the openai SDK; for any version.

import { beginTurn } from "./serve.mjs";

const TURNS = 3;
const ENDS = ["response.completed", "response.incomplete", "response.failed"];

/** Reports what an event of a stream brings, and returns the response that ends it. */
export function noteEvent(event, turn) {
  if (event.type === "response.output_text.delta") turn.text += event.delta;
  if (/^response\.reasoning_(summary_)?text\.delta$/.test(event.type)) {
    turn.reasoning += event.delta;
  }
  return ENDS.includes(event.type) ? event.response : undefined;
}

/** Reports the whole answer. */
export function noteResponse({ output, status, usage, ...more }, turn) {
  const of = (type) => output.filter((item) => item.type === type);
  turn.finish = more.incomplete_details?.reason ?? status;
  turn.whole = [
    of("reasoning").flatMap(({ summary }) => summary.map(({ text }) => text)).join(""),
    of("message").flatMap(({ content }) => content.map(({ text }) => text)).join(""),
  ];
  turn.calls = of("function_call").map((call) => [call.name, JSON.parse(call.arguments)]);
  if (usage) turn.usage = [usage.input_tokens, usage.output_tokens];
  if (more.error) turn.error = more.error.message;
}

/** Asks until there is no call, for each prompt. */
export async function loop(sdk, request, report) {
  const input = [];
  for (const prompt of request.prompts) {
    input.push({ role: "user", content: prompt });
    await answer(sdk, request, input, report);
  }
}

/** Returns an item of an answer as the next request has it. */
function sentBack(item, { store }) {
  const isReference = store && item.type !== "function_call";
  return isReference ? { type: "item_reference", id: item.id } : item;
}

/** Asks until there is no call; what is said comes to the input. */
async function answer(sdk, request, input, report) {
  for (let at = 0; at < TURNS; at++) {
    const turn = beginTurn(report);
    let response = await sdk.responses.create({
      model: request.model,
      instructions: request.system,
      input,
      tools: request.tools.map((tool) => ({ type: "function", ...tool })),
      store: request.store ?? false,
      include: ["reasoning.encrypted_content"],
      stream: request.stream,
    });
    if (request.stream) {
      let end;
      for await (const event of response) end = noteEvent(event, turn) ?? end;
      response = end;
    }
    if (!response) return;
    noteResponse(response, turn);
    input.push(...response.output.map((item) => sentBack(item, request)));
    if (!turn.calls.length) return;
    for (const { type, call_id } of response.output) {
      if (type !== "function_call") continue;
      input.push({ type: "function_call_output", call_id, output: request.result });
    }
  }
}
