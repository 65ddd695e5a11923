// OpenAI's Agents SDK for JavaScript, with its Responses model.

import {
  Agent,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { noteEvent, noteResponse } from "./responses_reader.mjs";
import { beginTurn, responses, serve } from "./serve.mjs";

setTracingDisabled(true);

function agentOf(url, request) {
  const sdk = new OpenAI({
    apiKey: "made-up",
    baseURL: url,
    maxRetries: 0,
    timeout: 10_000,
    logLevel: "off",
  });
  return new Agent({
    name: "forecaster",
    instructions: request.system,
    model: new OpenAIResponsesModel(sdk, request.model),
    modelSettings: { store: false },
    tools: request.tools.map(({ name, description, parameters, strict }) =>
      tool({ name, description, parameters, strict, execute: () => request.result }),
    ),
  });
}

responses(
  "openai-agents-node-responses",
  "OpenAIResponsesModel: an agent that runs its tool",
  async (url, request, report) => {
    const agent = agentOf(url, request);
    if (!request.stream) {
      const result = await run(agent, request.prompt, { maxTurns: 3 });
      report.outcome.final = result.finalOutput;
      return;
    }
    const result = await run(agent, request.prompt, { maxTurns: 3, stream: true });
    let turn;
    for await (const { type, data } of result) {
      if (type !== "raw_model_stream_event" || data.type !== "model") continue;
      if (data.event.type === "response.created") turn = beginTurn(report);
      const response = noteEvent(data.event, turn);
      if (response) noteResponse(response, turn);
    }
    await result.completed;
    report.outcome.final = result.finalOutput;
  },
);

await serve();
