// The official TypeScript client, in one era: lists our tools, reads a file, asks a question.
// client.mjs legacy|modern stdio COMMAND ARGS… | client.mjs legacy|modern http URL TOKEN
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

const [era, way, first, ...rest] = process.argv.slice(2);
const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
const client = new Client({ name: 'typescript', version: '0' }, { versionNegotiation: { mode } });
const transport =
    way === 'stdio'
        ? new StdioClientTransport({ command: first, args: rest, env: process.env, stderr: 'ignore' })
        : new StreamableHTTPClientTransport(new URL(first), { requestInit: { headers: { Authorization: `Bearer ${rest[0]}` } } });
await client.connect(transport);
const { tools } = await client.listTools();
const read = await client.callTool({ name: 'read_file', arguments: { path: 'a.txt' } });
const asked = await client.callTool({ name: 'query', arguments: { query: 'What is it?', agent: 'thinker' } });
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), read: read.structuredContent.text, answer: asked.structuredContent.answer }));
await client.close();
