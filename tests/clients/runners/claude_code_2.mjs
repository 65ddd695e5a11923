// Claude Code on the command line.

import { run } from "./command_line.mjs";
import { messages, serve } from "./serve.mjs";

const QUIET = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  CLAUDE_CODE_MAX_RETRIES: "0",
  DISABLE_AUTOUPDATER: "1",
  DISABLE_TELEMETRY: "1",
  IS_SANDBOX: "1",
};

messages("claude-code", "claude -p", async (url, request, report) => {
  const args = ["--model", request.model, "--verbose", "--output-format", "stream-json"];
  if (request.mcp) {
    const [command, ...rest] = request.mcp;
    const servers = { barn: { command, args: rest } };
    args.push("--mcp-config", JSON.stringify({ mcpServers: servers }));
    args.push("--dangerously-skip-permissions");
  } else args.push("--allowedTools", "Bash");
  const rounds = request.prompts.map((prompt, at) => ({
    args: ["-p", prompt, ...(at ? ["--continue"] : []), ...args],
    stop: request.stops?.[at],
  }));
  const program = "@anthropic-ai/claude-code/cli-wrapper.cjs";
  const said = await run(program, rounds, report, () => ({
    ...QUIET,
    ANTHROPIC_API_KEY: "made-up",
    ANTHROPIC_BASE_URL: url.replace(/\/v1$/, ""),
  }));
  const { outcome, events } = report;
  for (const { type, subtype, message, ...more } of said) {
    const blocks = Array.isArray(message?.content) ? message.content : [];
    events.push([type, subtype, ...blocks.map((block) => block.type)]);
    for (const block of blocks) {
      if (block.type === "tool_result") outcome.printed = block.content;
    }
    if (type !== "result") continue;
    outcome.usage = more.usage;
    if (more.is_error) outcome.error = more.result;
    else outcome.final = more.result;
  }
});

await serve();
