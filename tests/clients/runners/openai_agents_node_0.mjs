// OpenAI's Agents SDK for JavaScript, with its Responses model.

import {
  Agent,
  OpenAIResponsesModel,
  run,
  setTracingDisabled,
  tool,
  user,
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
    modelSettings: { store: request.store ?? false },
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
    let given = [];
    for (const prompt of request.prompts) {
      const result = await runOnce(agent, [...given, user(prompt)], request, report);
      report.outcome.final = result.finalOutput;
      given = result.history;
    }
  },
);

/** Runs the agent to its end. */
async function runOnce(agent, given, request, report) {
  if (!request.stream) return run(agent, given, { maxTurns: 3 });
  const result = await run(agent, given, { maxTurns: 3, stream: true });
  let turn;
  for await (const { type, data } of result) {
    if (type !== "raw_model_stream_event" || data.type !== "model") continue;
    if (data.event.type === "response.created") turn = beginTurn(report);
    const response = noteEvent(data.event, turn);
    if (response) noteResponse(response, turn);
  }
  await result.completed;
  return result;
}

await serve();
