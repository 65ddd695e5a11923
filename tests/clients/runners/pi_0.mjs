// pi on the command line: it speaks either protocol, by its provider's settings.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./command_line.mjs";
import { messages, responses, serve } from "./serve.mjs";

responses("pi-responses", "pi --mode json", (url, request, report) =>
  ask("openai-responses", url, request, report),
);

messages("pi-messages", "pi --mode json", (url, request, report) =>
  ask("anthropic-messages", url.replace(/\/v1$/, ""), request, report),
);

async function ask(api, baseUrl, { model, prompts: [prompt] }, report) {
  const args = ["--mode", "json", "--no-session", "--offline", "--provider", "scripted"];
  const program = "@earendil-works/pi-coding-agent/dist/bundle/cli.js";
  args.push("--model", model, prompt);
  const said = await run(program, [{ args }], report, async (home) => {
    const models = [{ id: model, reasoning: true }];
    const scripted = { baseUrl, api, apiKey: "made-up", models };
    const folder = join(home, ".pi", "agent");
    const write = (name, value) => writeFile(join(folder, name), JSON.stringify(value));
    await mkdir(folder, { recursive: true });
    await write("models.json", { providers: { scripted } });
    await write("settings.json", { retry: { enabled: false } });
    return {};
  });
  const { outcome, events } = report;
  outcome.usage = { output_tokens: 0 };
  for (const { type, message } of said) {
    if (type !== "message_end") continue;
    const texts = message.content.filter?.((block) => block.type === "text") ?? [];
    const whole = texts.map((block) => block.text).join("");
    events.push([message.role, message.stopReason]);
    if (message.role === "toolResult") outcome.printed = whole;
    if (message.role !== "assistant") continue;
    outcome.usage.output_tokens += message.usage.output;
    if (message.stopReason === "stop") outcome.final = whole;
    else if (message.stopReason !== "toolUse")
      outcome.error = message.errorMessage ?? message.stopReason;
  }
}

await serve();
