// Two programs that read the stream without an SDK, written from descriptions of them.

import { streamSse } from "@continuedev/fetch";
import { createParser } from "eventsource-parser";
import { noteChunk, noteWhole } from "./continue_reader.mjs";
import { client, serve } from "./serve.mjs";

function post(url, request) {
  return fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(10_000),
  });
}

client(
  "continue-fetch",
  "Continue's real streamSse, port of how it reads a chunk",
  async (url, request, report) => {
    const response = await post(url, request);
    if (!response.ok) {
      throw new Error(`HTTP ${response.status}: ${await response.text()}`);
    }
    if (!request.stream) {
      noteWhole(await response.json(), report);
      return;
    }
    for await (const chunk of streamSse(response)) noteChunk(chunk, report);
  },
);

client(
  "chatbox-2025",
  "port of Chatbox until spring 2025, on eventsource-parser",
  async (url, request, { outcome, events }) => {
    const response = await post(url, request);
    if (!response.ok) {
      throw new Error(`Status Code ${response.status}, ${await response.text()}`);
    }
    if (!request.stream) {
      const body = await response.json();
      if (body.error) throw new Error(`Error from the API: ${JSON.stringify(body)}`);
      outcome.text = body.choices[0].message.content;
      return;
    }
    outcome.text = "";
    let failed;
    const parser = createParser({
      onEvent({ data }) {
        if (failed || data === "[DONE]") return;
        try {
          const said = JSON.parse(data);
          if (said.error) throw new Error(`Error from the API: ${data}`);
          const text = said.choices[0]?.delta?.content;
          if (text !== undefined) {
            outcome.text += text;
            events.push(text);
          }
        } catch (error) {
          failed = error;
        }
      },
    });
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      parser.feed(piece);
      if (failed) throw failed;
    }
  },
);

await serve();
