// How Continue takes a chunk, written from a description of it.

function parses(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Adds a fragment of a call as the window does: by id, nothing to what parses. */
function join(calls, { id, function: said }) {
  let call = id ? calls.find((each) => each.id === id) : calls.at(-1);
  if (!call) calls.push((call = { id, name: "", arguments: "" }));
  const name = said?.name ?? "";
  call.name = name.startsWith(call.name) ? name : call.name + name;
  if (!parses(call.arguments)) call.arguments += said?.arguments ?? "";
}

/** Reports a chunk; of a delta only the first kind of what it brings. */
export function noteChunk({ choices, usage }, { outcome, events }) {
  outcome.text ??= "";
  outcome.reasoning ??= "";
  outcome.calls ??= [];
  if (usage) outcome.usage = usage;
  const delta = choices?.[0]?.delta;
  const thought = delta?.reasoning_content || delta?.reasoning;
  if (delta?.content) {
    outcome.text += delta.content;
    events.push(["text", delta.content]);
  } else if (delta?.tool_calls) {
    delta.tool_calls.forEach((call) => join(outcome.calls, call));
    events.push(["calls", delta.tool_calls]);
  } else if (thought) {
    outcome.reasoning += thought;
    events.push(["reasoning", thought]);
  }
}

/** Reports a whole answer. */
export function noteWhole({ choices, usage }, { outcome }) {
  const { content, tool_calls, reasoning_content, reasoning } = choices[0].message;
  outcome.text = content;
  outcome.reasoning = reasoning_content || reasoning;
  outcome.calls = tool_calls;
  outcome.usage = usage;
}
