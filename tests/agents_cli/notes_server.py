"""An MCP server on standard input and output, with one tool: `look` says which server was asked for what.

python notes_server.py NAME
"""

import json
import sys

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TOOL = {"name": "look", "description": "Look up a note by its title.", "inputSchema": SCHEMA}


def answer(method, parameters):
    if method == "initialize":
        information = {"name": sys.argv[1], "version": "1"}
        return {
            "protocolVersion": parameters["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": information,
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        text = f"{sys.argv[1]} knows of {parameters['arguments']['title']}"
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
