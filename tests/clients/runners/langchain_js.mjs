// LangChain for JavaScript, its ChatOpenAI.

import { ChatOpenAI } from "@langchain/openai";
import { client, serve } from "./serve.mjs";

/** Returns the model, with what the request sets. */
function modelOf(url, { model, n, logprobs, stream_options, tools, tool_choice }) {
  const chat = new ChatOpenAI({
    model,
    n,
    logprobs,
    streamUsage: stream_options?.include_usage ?? false,
    apiKey: "made-up",
    configuration: { baseURL: url },
    maxRetries: 0,
    timeout: 10_000,
  });
  return tools ? chat.bindTools(tools, { tool_choice }) : chat;
}

/** Returns what is the same each time: ids of runs are not. */
function said(message) {
  const { id, ...metadata } = message.response_metadata;
  return {
    text: message.text,
    calls: message.tool_calls,
    invalid: message.invalid_tool_calls,
    more: message.additional_kwargs,
    metadata,
    usage: message.usage_metadata,
  };
}

client(
  "langchain-js",
  "ChatOpenAI, stream() and bindTools()",
  async (url, request, report) => {
    const model = modelOf(url, request);
    if (!request.stream) {
      report.outcome = said(await model.invoke(request.messages));
      return;
    }
    let whole;
    for await (const chunk of await model.stream(request.messages)) {
      whole = whole ? whole.concat(chunk) : chunk;
      Object.assign(report.outcome, said(whole));
      const { content, tool_call_chunks, usage_metadata } = chunk;
      report.events.push([content, tool_call_chunks, usage_metadata]);
    }
  },
);

await serve();
