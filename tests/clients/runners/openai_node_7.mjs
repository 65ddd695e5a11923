// openai-node 7: its loops and its runner.

import * as readers from "./openai_node_readers.mjs";
import * as byResponses from "./responses_reader.mjs";
import { client, responses, serve } from "./serve.mjs";

client("openai-node7-careful", "create(), every field tested", readers.careful);
client("openai-node7-runner", "the .stream() runner and .parse()", (url, ...rest) =>
  readers.runner(readers.at(url).chat.completions, ...rest),
);
responses("openai-node7-responses", "responses.create(), a tool loop", (url, ...rest) =>
  byResponses.loop(readers.at(url), ...rest),
);

await serve();
