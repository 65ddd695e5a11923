// Vercel's ai 6 with its two providers for OpenAI's chat completions.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { extractReasoningMiddleware, wrapLanguageModel } from "ai";
import * as readers from "./ai_sdk_readers.mjs";
import { client, messages, responses, serve } from "./serve.mjs";

client("ai-sdk6-openai", "ai 6 with @ai-sdk/openai, chat", (url, request, report) => {
  const provider = createOpenAI({ apiKey: "made-up", baseURL: url });
  const { logprobs } = request;
  return readers.read(provider.chat(request.model), request, report, {
    openai: logprobs === undefined ? {} : { logprobs },
  });
});

client(
  "ai-sdk6-compatible",
  "ai 6 with @ai-sdk/openai-compatible, as Chatbox",
  (url, request, report) => {
    const provider = createOpenAICompatible({
      name: "made-up",
      apiKey: "made-up",
      baseURL: url,
      includeUsage: request.stream_options?.include_usage,
    });
    const model = wrapLanguageModel({
      model: provider(request.model),
      middleware: extractReasoningMiddleware({ tagName: "think" }),
    });
    const options = { "made-up": readers.restOf(request) };
    return readers.read(model, request, report, options);
  },
);

responses("ai-sdk6-responses", "ai 6 with @ai-sdk/openai", (url, ...rest) =>
  readers.loop(createOpenAI({ apiKey: "made-up", baseURL: url }), ...rest, {
    openai: { store: false, forceReasoning: true },
  }),
);

messages("ai-sdk6-messages", "ai 6 with @ai-sdk/anthropic", (url, ...rest) =>
  readers.loop(createAnthropic({ apiKey: "made-up", baseURL: url }), ...rest, {
    anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
  }),
);

await serve();
