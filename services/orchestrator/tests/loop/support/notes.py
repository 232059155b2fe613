"""An MCP server on standard input and output, of the 2025-06-18 version, in 50 lines and without any package."""

import json
import os
import sys

TOOLS = [
    {
        "name": "note",
        "description": "Keeps a note.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    },
    {"name": "environment", "description": "Names its variables.", "inputSchema": {"type": "object"}},
    {"name": "exit", "description": "Ends the program.", "inputSchema": {"type": "object"}},
    {"name": "fail", "description": "Says that it cannot.", "inputSchema": {"type": "object"}},
    {"name": "hang", "description": "Never answers.", "inputSchema": {"type": "object"}},
]


def call(name, arguments):
    if name == "exit":
        sys.exit(3)
    if name == "fail":
        return {"content": [{"type": "text", "text": "the pencil is blunt"}], "isError": True}
    value = sorted(os.environ) if name == "environment" else {"kept": arguments["text"]}
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def result(method, params):
    if method == "initialize":
        server = {"name": "notes", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        return call(params["name"], params.get("arguments", {}))
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or message.get("params", {}).get("name") == "hang":
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    value = result(message["method"], message.get("params", {}))
    if value is None:
        answer["error"] = {"code": -32601, "message": "no such method"}
    else:
        answer["result"] = value
    print(json.dumps(answer), flush=True)
