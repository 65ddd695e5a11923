// Anthropic's SDK for Node, version 1: a tool loop.

import Anthropic from "@anthropic-ai/sdk";
import { beginTurn, messages, serve } from "./serve.mjs";

const TURNS = 3;

/** Reports the whole answer. */
function noteMessage({ content, stop_reason, usage }, turn) {
  const of = (type) => content.filter((block) => block.type === type);
  turn.finish = stop_reason;
  turn.whole = [
    of("thinking").map(({ thinking }) => thinking).join(""),
    of("text").map(({ text }) => text).join(""),
  ];
  turn.calls = of("tool_use").map(({ name, input }) => [name, input]);
  turn.usage = [usage.input_tokens, usage.output_tokens];
}

/** Returns the whole message. */
function read(sdk, asked, stream, turn) {
  if (!stream) return sdk.messages.create(asked);
  return sdk.messages
    .stream(asked)
    .on("text", (text) => (turn.text += text))
    .on("thinking", (thought) => (turn.reasoning += thought))
    .finalMessage();
}

messages(
  "anthropic-node1",
  "messages.stream() and .create(), a tool loop",
  async (url, request, report) => {
    const sdk = new Anthropic({
      apiKey: "made-up",
      baseURL: url.replace(/\/v1$/, ""),
      maxRetries: 0,
      timeout: 10_000,
    });
    const given = [];
    for (const prompt of request.prompts) {
      given.push({ role: "user", content: prompt });
      await answer(sdk, request, given, report);
    }
  },
);

/** Asks until there is no call; what is said comes to what is `given`. */
async function answer(sdk, request, given, report) {
  for (let at = 0; at < TURNS; at++) {
    const turn = beginTurn(report);
    const asked = {
      model: request.model,
      max_tokens: 2000,
      thinking: { type: "enabled", budget_tokens: 1024 },
      system: request.system,
      messages: given,
      tools: request.tools.map(({ name, description, parameters }) => ({
        name,
        description,
        input_schema: parameters,
      })),
    };
    const message = await read(sdk, asked, request.stream, turn);
    noteMessage(message, turn);
    given.push({ role: "assistant", content: message.content });
    const calls = message.content.filter(({ type }) => type === "tool_use");
    if (!calls.length) return;
    const results = calls.map(({ id }) => ({
      type: "tool_result",
      tool_use_id: id,
      content: request.result,
    }));
    given.push({ role: "user", content: results });
  }
}

await serve();
