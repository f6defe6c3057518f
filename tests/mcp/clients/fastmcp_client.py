"""FastMCP's client: lists our tools, reads a file, asks a question.

fastmcp_client.py SERVER, as an entry of `mcpServers`
"""

import asyncio
import json
import sys

from fastmcp import Client


async def main(server):
    async with Client({"mcpServers": {"updraft": json.loads(server)}}) as client:
        tools = await client.list_tools()
        read = await client.call_tool("read_file", {"path": "a.txt"})
        asked = await client.call_tool("query", {"query": "What is it?", "agent": "thinker"})
        said = {
            "tools": [tool.name for tool in tools],
            "read": read.structured_content["text"],
            "answer": asked.structured_content["answer"],
        }
        print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
