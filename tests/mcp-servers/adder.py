"""A server made with the official Python SDK that adds numbers, over the transport that is asked for.

adder.py stdio|streamable-http|sse PORT
"""

import sys

from mcp.server import MCPServer

server = MCPServer("adder")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


transport, port = sys.argv[1], int(sys.argv[2])
if transport == "stdio":
    server.run("stdio")
else:
    server.run(transport, host="127.0.0.1", port=port)
