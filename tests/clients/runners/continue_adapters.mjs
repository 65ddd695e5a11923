// Continue's own way to OpenAI's SDK, openai-adapters.

import { constructLlmApi } from "@continuedev/openai-adapters";
import { noteChunk, noteWhole } from "./continue_reader.mjs";
import { client, serve } from "./serve.mjs";

client(
  "continue-adapters",
  "Continue's real openai-adapters, port of how it reads a chunk",
  async (url, request, report) => {
    const settings = { provider: "openai", apiKey: "made-up", apiBase: `${url}/` };
    const api = constructLlmApi(settings);
    api.openai.maxRetries = 0; // there is no setting for it; they wait and hide errors
    const signal = AbortSignal.timeout(10_000);
    if (!request.stream) {
      noteWhole(await api.chatCompletionNonStream(request, signal), report);
      return;
    }
    for await (const chunk of api.chatCompletionStream(request, signal)) {
      noteChunk(chunk, report);
    }
  },
);

await serve();
