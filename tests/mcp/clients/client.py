"""The official Python client, in one era: lists our tools, reads a file, asks a question.

client.py auto|legacy|2026-07-28 stdio COMMAND ARGS… | client.py MODE http URL TOKEN
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def main(mode, way, first, *rest):
    if way == "stdio":
        await speak(stdio_client(StdioServerParameters(command=first, args=list(rest), env=dict(os.environ))), mode)
        return
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {rest[0]}"}, timeout=60) as http:
        await speak(streamable_http_client(first, http_client=http), mode)


async def speak(transport, mode):
    async with Client(transport, mode=mode) as client:
        tools = await client.list_tools()
        read = await client.call_tool("read_file", {"path": "a.txt"})
        asked = await client.call_tool("query", {"query": "What is it?", "agent": "thinker"})
        said = {
            "tools": [tool.name for tool in tools.tools],
            "read": read.structured_content["text"],
            "answer": asked.structured_content["answer"],
        }
        print(json.dumps(said))


asyncio.run(main(*sys.argv[1:]))
