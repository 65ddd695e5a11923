// A program around the Vercel AI SDK, for any version and any provider of it.

import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { beginTurn, failure } from "./serve.mjs";

/** Returns a message of an OpenAI request as the SDK takes it. */
function messageOf({ role, content, tool_calls, tool_call_id, name }) {
  if (role === "tool") {
    const output = { type: "text", value: content };
    const result = { type: "tool-result", toolCallId: tool_call_id, output };
    return { role, content: [{ ...result, toolName: name ?? "unknown" }] };
  }
  if (!tool_calls) return { role, content };
  const calls = tool_calls.map((call) => ({
    type: "tool-call",
    toolCallId: call.id,
    toolName: call.function.name,
    input: JSON.parse(call.function.arguments),
  }));
  const text = content ? [{ type: "text", text: content }] : [];
  return { role, content: [...text, ...calls] };
}

/** Returns a tool choice of an OpenAI request as the SDK takes it. */
function choiceOf(choice) {
  if (typeof choice !== "object") return choice;
  return { type: "tool", toolName: choice.function.name };
}

/** Returns tools of an OpenAI request as the SDK takes them; it runs none of them. */
function toolsOf(tools) {
  return Object.fromEntries(
    tools.map(({ function: { name, description, strict, parameters } }) => [
      name,
      tool({ description, strict, inputSchema: jsonSchema(parameters) }),
    ]),
  );
}

/** Returns what the SDK has no setting for. */
export function restOf(request) {
  const known = "model messages stream stream_options tools tool_choice";
  return Object.fromEntries(
    Object.entries(request).filter(([name]) => !known.split(" ").includes(name)),
  );
}

function callOf({ toolCallId, toolName, input, invalid, error }) {
  return { toolCallId, toolName, input, invalid, error: error && failure(error) };
}

/** Returns a part of the stream without what differs from call to call. */
function eventOf(part) {
  const { type, text, id, delta, toolName, finishReason, rawFinishReason } = part;
  if (type === "error") return [type, failure(part.error)];
  if (type === "tool-call") return [type, callOf(part)];
  if (type.startsWith("tool-input")) return [type, id, toolName, delta];
  return [type, text, finishReason, rawFinishReason, part.usage ?? part.totalUsage];
}

/** Reads with streamText(), or generateText() for a whole answer. */
export async function read(model, request, { outcome, events }, providerOptions) {
  const settings = {
    model,
    messages: request.messages.map(messageOf),
    tools: request.tools && toolsOf(request.tools),
    toolChoice: choiceOf(request.tool_choice),
    providerOptions,
    maxRetries: 0,
    abortSignal: AbortSignal.timeout(10_000),
    onError: () => {}, // prints otherwise; the stream brings the error too
  };
  let answer;
  if (request.stream) {
    outcome.text = "";
    answer = streamText(settings);
    for await (const part of answer.stream ?? answer.fullStream) {
      events.push(eventOf(part).filter((each) => each !== undefined));
      if (part.type === "text-delta") outcome.text += part.text;
      if (part.type === "error") outcome.error ??= failure(part.error);
    }
  } else {
    answer = await generateText(settings);
  }
  try {
    outcome.text = await answer.text;
    outcome.reasoning = await answer.reasoningText;
    outcome.calls = (await answer.toolCalls).map(callOf);
    outcome.finish = [await answer.finishReason, await answer.rawFinishReason];
    outcome.usage = await answer.totalUsage;
  } catch (error) {
    outcome.lacking = failure(error);
  }
}

/** Runs a tool loop with a provider of another protocol, for each prompt. */
export async function loop(provider, request, report, providerOptions) {
  const messages = [];
  let last;
  for (const content of request.prompts) {
    if (last) messages.push(...(await saidIn(last)));
    messages.push({ role: "user", content });
    last = await ask(provider, request, [...messages], report, providerOptions);
  }
}

/** Returns the messages of a result; where they are depends on the version. */
async function saidIn(result) {
  return (await result.responseMessages) ?? (await result.response).messages;
}

/** Runs a tool loop, and returns its result. */
async function ask(provider, request, messages, report, providerOptions) {
  const settings = {
    model: provider(request.model),
    system: request.system,
    messages,
    tools: Object.fromEntries(
      request.tools.map(({ name, description, parameters }) => [
        name,
        tool({
          description,
          inputSchema: jsonSchema(parameters),
          execute: () => request.result,
        }),
      ]),
    ),
    stopWhen: stepCountIs(3),
    providerOptions,
    maxRetries: 0,
    abortSignal: AbortSignal.timeout(10_000),
    onError: () => {},
  };
  if (!request.stream) {
    const result = await generateText(settings);
    for (const step of result.steps) noteStep(step, beginTurn(report));
    return result;
  }
  const answer = streamText(settings);
  let turn;
  for await (const part of answer.stream ?? answer.fullStream) {
    if (part.type === "start-step") turn = beginTurn(report);
    if (part.type === "text-delta") turn.text += part.text;
    if (part.type === "reasoning-delta") turn.reasoning += part.text;
    if (part.type === "tool-call") turn.calls.push([part.toolName, part.input]);
    if (part.type === "error") report.outcome.error = failure(part.error);
    if (part.type === "finish-step") {
      turn.finish = part.finishReason;
      turn.usage = [part.usage.inputTokens, part.usage.outputTokens];
    }
  }
  return answer;
}

function noteStep({ text, reasoningText, toolCalls, finishReason, usage }, turn) {
  turn.whole = [reasoningText ?? "", text];
  turn.calls = toolCalls.map(({ toolName, input }) => [toolName, input]);
  turn.finish = finishReason;
  turn.usage = [usage.inputTokens, usage.outputTokens];
}
