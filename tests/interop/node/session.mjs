// What a session of the legacy era adds, and only there.

import assert from 'node:assert/strict';

import { text } from './tour.mjs';

export function pings() {
    return {
        'answers a ping': async ({ client }) => {
            assert.deepEqual(Object.keys(await client.ping()), []);
        }
    };
}

/** Over HTTP. A client that connects here tells in `resumed` how often it came back for the rest of a stream. */
export function sessions(url) {
    return {
        'has a session': ({ client }) => {
            assert.match(client.transport.sessionId, /^[0-9a-f-]{36}$/);
        },
        'a session that was ended is gone': async ({ connect, end }) => {
            const other = await connect();
            const headers = { 'content-type': 'application/json', 'mcp-session-id': other.transport.sessionId };
            await end(other);
            const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' });
            assert.equal((await fetch(url, { method: 'POST', headers, body })).status, 404);
        },
        'comes back for the answer when the server closes the stream': async tourist => {
            const before = tourist.client.resumed;
            assert.equal(text(await tourist.call('test_reconnection')), 'The stream was closed, and the answer came.');
            assert.ok(tourist.client.resumed > before, 'the stream was not closed');
        }
    };
}

/** A `fetch` that counts, in a client's `resumed`, how often it comes back for the rest of a stream. */
export function countingFetch(client) {
    client.resumed = 0;
    return (input, options) => {
        if (new Headers(options?.headers).has('last-event-id')) client.resumed += 1;
        return fetch(input, options);
    };
}
