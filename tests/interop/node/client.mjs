// The tour of @modelcontextprotocol/client. Usage: node client.mjs URL modern|auto|legacy

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';

import { METHOD_NOT_FOUND, tour } from './tour.mjs';

const [url, mode] = process.argv.slice(2);
const negotiation = { modern: { pin: '2026-07-28' }, auto: 'auto', legacy: 'legacy' }[mode];
const isLegacy = mode === 'legacy';

async function connect() {
    const client = new Client({ name: 'tour', version: '1' }, { versionNegotiation: { mode: negotiation } });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    return client;
}

async function end(client) {
    if (isLegacy) await client.transport.terminateSession();
    await client.close();
}

const legacy = {
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
};

const modern = {
    'has no session': client => {
        assert.equal(client.transport.sessionId, undefined);
    },
    'discovers the server again': async client => {
        const { supportedVersions } = await client.request({ method: 'server/discover' });
        assert.deepEqual(supportedVersions, ['2026-07-28']);
    }
};

await tour({
    label: `client 2.4 ${mode}`,
    expected: isLegacy ? '2025-11-25' : '2026-07-28',
    connect,
    end,
    call: (client, params, options) => client.callTool(params, options),
    version: client => client.getNegotiatedProtocolVersion(),
    ask: (client, method) => client.request({ method, params: {} }, z.any()),
    // This client shows our code only with a 2xx or a 400, and the modern era has a 404.
    unknownMethod: isLegacy ? METHOD_NOT_FOUND : 'CLIENT_HTTP_NOT_IMPLEMENTED',
    extra: isLegacy ? legacy : modern
});
