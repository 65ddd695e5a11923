// openai-node 4: the runner while it was in beta.

import * as readers from "./openai_node_readers.mjs";
import { client, serve } from "./serve.mjs";

client("openai-node4-runner", "the .beta runner and .parse()", (url, ...rest) =>
  readers.runner(readers.at(url).beta.chat.completions, ...rest),
);

await serve();
