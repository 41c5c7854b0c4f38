"""An MCP server with one tool, `add`, which appends a text to the file that the argument names: `notes.py FILE`."""

import json
import sys

TOOL = {
    "name": "add",
    "description": "Adds a note.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        with open(sys.argv[1], "a", encoding="utf-8") as notes:
            notes.write(params["arguments"]["text"] + "\n")
        return {"content": [{"type": "text", "text": f"NOTED {params['arguments']['text']}"}]}
    return None


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    result = answer(request["method"], request.get("params"))
    outcome = {"result": result} if result else {"error": {"code": -32601, "message": "unknown method"}}
    print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **outcome}), flush=True)
