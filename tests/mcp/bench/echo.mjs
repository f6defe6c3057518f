// An echo tool with the official TypeScript SDK: echo.mjs stdio | echo.mjs http PORT.
import { createServer } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

function made() {
    const server = new McpServer({ name: 'echo', version: '0' });
    const input = z.object({ text: z.string() });
    server.registerTool('echo', { description: 'Echo', inputSchema: input }, async ({ text }) => ({ content: [{ type: 'text', text }] }));
    return server;
}

const [way, port] = process.argv.slice(2);
if (way === 'stdio') {
    await made().connect(new StdioServerTransport());
} else {
    createServer(async (request, response) => {
        const transport = new NodeStreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
        await made().connect(transport);
        await transport.handleRequest(request, response);
    }).listen(Number(port), '127.0.0.1');
}
