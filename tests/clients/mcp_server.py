"""An MCP server with many tools, which agents start: `python mcp_server.py`."""

import json
import sys
from typing import Any

COUNT = 60
_SCHEMA = {"type": "object", "properties": {"state": {"type": "string"}}}


def _tool(number: int) -> dict[str, Any]:
    about = f"Switches lamp {number:02} of the barn. " + "It hangs in the barn. " * 20
    return {"name": f"lamp_{number:02}", "description": about, "inputSchema": _SCHEMA}


def _result(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "serverInfo": {"name": "barn", "version": "1"},
            "capabilities": {"tools": {}},
        }
    if method == "tools/list":
        return {"tools": [_tool(number) for number in range(COUNT)]}
    if method == "tools/call":
        text = f"{params['name']} is {params['arguments']['state']} now"
        return {"content": [{"type": "text", "text": text}]}
    return None


def main() -> None:
    """Answer until stdin ends."""
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" not in asked:
            continue
        result = _result(asked["method"], asked.get("params") or {})
        unknown = {"error": {"code": -32601, "message": "unknown method"}}
        said = unknown if result is None else {"result": result}
        answer = {"jsonrpc": "2.0", "id": asked["id"], **said}
        sys.stdout.write(f"{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
