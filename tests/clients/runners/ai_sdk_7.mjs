// Vercel's ai 7 with its two providers for OpenAI's chat completions.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as readers from "./ai_sdk_readers.mjs";
import { client, serve } from "./serve.mjs";

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

await serve();
