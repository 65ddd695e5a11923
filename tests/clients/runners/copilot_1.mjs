// GitHub Copilot on the command line, with a provider of one's own in either protocol.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "./command_line.mjs";
import { messages, responses, serve } from "./serve.mjs";

// Its session's record has more than what it prints: how much was used.
const SESSION = "6f1c2f5e-3b0a-4c55-9d1e-0a4711de1a55";
const PROGRAM = "@github/copilot/npm-loader.js";
// It unpacks itself there, 240 MB.
const UNPACKED = { COPILOT_CACHE_HOME: fileURLToPath(new URL("cache", import.meta.url)) };

responses("copilot-responses", "copilot -p", (url, request, report) =>
  ask(
    { COPILOT_PROVIDER_BASE_URL: url, COPILOT_PROVIDER_WIRE_API: "responses" },
    request,
    report,
  ),
);

messages("copilot-messages", "copilot -p", (url, request, report) =>
  ask(
    {
      COPILOT_PROVIDER_BASE_URL: url.replace(/\/v1$/, ""),
      COPILOT_PROVIDER_TYPE: "anthropic",
    },
    request,
    report,
  ),
);

async function ask(provider, { model, prompts: [prompt], stream }, report) {
  const args = ["-p", prompt, "--allow-all-tools", "--session-id", SESSION];
  args.push("--stream", stream ? "on" : "off");
  const variables = {
    ...provider,
    ...UNPACKED,
    COPILOT_MODEL: model,
    COPILOT_OFFLINE: "true",
    COPILOT_PROVIDER_API_KEY: "made-up",
  };
  const said = await run(PROGRAM, [{ args }], report, () => variables, (home) =>
    readFile(join(home, ".copilot", "session-state", SESSION, "events.jsonl"), "utf8"),
  );
  const { outcome, events } = report;
  for (const { type, data } of said) {
    events.push(type);
    if (type === "session.error") outcome.error = data.message;
    if (type === "tool.execution_complete") outcome.printed = data.result.content;
    if (type === "assistant.message" && !data.toolRequests.length)
      outcome.final = data.content;
    for (const { usage } of Object.values(data.modelMetrics ?? {}))
      outcome.usage = { output_tokens: usage.outputTokens };
  }
}

// Once, before several are started.
await run(PROGRAM, [{ args: ["--version"] }], { outcome: {} }, () => UNPACKED);
// It asks five times more after a failure, and waits in between.
await serve(4);
