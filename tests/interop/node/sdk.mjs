// The tour of @modelcontextprotocol/sdk, which knows the legacy era alone.
// Usage: node sdk.mjs URL

import assert from 'node:assert/strict';

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';

import { METHOD_NOT_FOUND, tour } from './tour.mjs';

const [url] = process.argv.slice(2);

async function connect() {
    const client = new Client({ name: 'tour', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
}

async function end(client) {
    await client.transport.terminateSession();
    await client.close();
}

await tour({
    label: 'sdk 1.32 legacy',
    expected: '2025-11-25',
    connect,
    end,
    call: (client, params, options) => client.callTool(params, undefined, options),
    version: client => client.transport.protocolVersion,
    ask: (client, method) => client.request({ method, params: {} }, z.any()),
    unknownMethod: METHOD_NOT_FOUND,
    extra: {
        'answers a ping': async client => {
            assert.deepEqual(Object.keys(await client.ping()), []);
        },
        'has a session': client => {
            assert.match(client.transport.sessionId, /^[0-9a-f-]{36}$/);
        },
        'a session that was ended is gone': async () => {
            const other = await connect();
            const headers = { 'content-type': 'application/json', 'mcp-session-id': other.transport.sessionId };
            await end(other);
            const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
            assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 404);
        }
    }
});
