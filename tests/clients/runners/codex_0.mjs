// Codex on the command line.

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { run } from "./command_line.mjs";
import { responses, serve } from "./serve.mjs";

const config = (url, { model, compact_at, mcp }) => `
model = "${model}"
${compact_at ? `model_auto_compact_token_limit = ${compact_at}` : ""}
model_provider = "scripted"
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "${url}"
env_key = "A_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
${mcp ? `\n[mcp_servers.barn]\ncommand = "${mcp[0]}"\nargs = ${JSON.stringify(mcp.slice(1))}` : ""}
`;

responses("codex", "codex exec --json", async (url, request, report) => {
  const always = ["--json", "--skip-git-repo-check"];
  // Nobody is there to be asked, and the calls only print words.
  always.push("--dangerously-bypass-approvals-and-sandbox");
  const rounds = request.prompts.map((prompt, at) => ({
    args: ["exec", ...(at ? ["resume", "--last"] : []), ...always, prompt],
    stop: request.stops?.[at],
  }));
  const said = await run("@openai/codex/bin/codex.js", rounds, report, async (home) => {
    const folder = join(home, ".codex");
    await mkdir(folder);
    await writeFile(join(folder, "config.toml"), config(url, request));
    return { A_KEY: "made-up", CODEX_HOME: folder };
  });
  const { outcome, events } = report;
  for (const { type, item, usage, error, message } of said) {
    if (type !== "item.completed") events.push(type);
    if (type === "turn.completed") outcome.usage = usage;
    if (type === "error") outcome.error = message;
    if (type === "turn.failed") outcome.error = error.message;
    if (type !== "item.completed") continue;
    events.push(item.type);
    if (item.type === "agent_message") outcome.final = item.text;
    if (item.type === "command_execution") outcome.printed = item.aggregated_output;
  }
});

await serve();
