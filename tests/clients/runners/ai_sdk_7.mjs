// Vercel's ai 7 with its two providers for OpenAI's chat completions.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as readers from "./ai_sdk_readers.mjs";
import { client, messages, responses, serve } from "./serve.mjs";

client("ai-sdk7-openai", "ai 7 with @ai-sdk/openai, chat", (url, request, report) => {
  const provider = createOpenAI({ apiKey: "made-up", baseURL: url });
  const { logprobs } = request;
  return readers.read(provider.chat(request.model), request, report, {
    openai: logprobs === undefined ? {} : { logprobs },
  });
});

client(
  "ai-sdk7-compatible",
  "ai 7 with @ai-sdk/openai-compatible, as Cline",
  (url, request, report) => {
    const provider = createOpenAICompatible({
      name: "made-up",
      apiKey: "made-up",
      baseURL: url,
      includeUsage: true,
    });
    const options = { "made-up": readers.restOf(request) };
    return readers.read(provider(request.model), request, report, options);
  },
);

responses("ai-sdk7-responses", "ai 7 with @ai-sdk/openai", (url, ...rest) =>
  readers.loop(createOpenAI({ apiKey: "made-up", baseURL: url }), ...rest, {
    openai: { store: false, forceReasoning: true },
  }),
);

// By default it refers to what it takes to be stored.
responses("ai-sdk7-responses-stored", "ai 7 with @ai-sdk/openai", (url, ...rest) =>
  readers.loop(createOpenAI({ apiKey: "made-up", baseURL: url }), ...rest, {
    openai: { forceReasoning: true },
  }),
);

messages("ai-sdk7-messages", "ai 7 with @ai-sdk/anthropic", (url, ...rest) =>
  readers.loop(createAnthropic({ apiKey: "made-up", baseURL: url }), ...rest, {
    anthropic: { thinking: { type: "enabled", budgetTokens: 1024 } },
  }),
);

await serve();
