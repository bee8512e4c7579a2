// The tours of @modelcontextprotocol/client.
// Usage: node client.mjs demo|fixtures modern|auto|legacy URL|COMMAND...

import assert from 'node:assert/strict';

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { z } from 'zod';

import { CAPABILITIES, answerable } from './asking.mjs';
import { demo } from './demo.mjs';
import { extension } from './extension.mjs';
import { fixtures } from './fixtures.mjs';
import { countingFetch, pings, sessions } from './session.mjs';
import {
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    VERSIONS,
    listen,
    target,
    tour
} from './tour.mjs';

const [checks, mode, ...rest] = process.argv.slice(2);
const { url, ...program } = target(rest);
const isPipe = url === undefined;
const isLegacy = mode === 'legacy';
const negotiation = { modern: { pin: VERSIONS.modern }, auto: 'auto', legacy: 'legacy' }[mode];

async function connect(capabilities = CAPABILITIES) {
    const options = { capabilities, versionNegotiation: { mode: negotiation } };
    const client = new Client({ name: 'tour', version: '1' }, options);
    client.told = listen(client);
    answerable(client, capabilities, (method, answer) => client.setRequestHandler(method, answer));
    await client.connect(
        isPipe
            ? new StdioClientTransport(program)
            : new StreamableHTTPClientTransport(url, { fetch: countingFetch(client) })
    );
    return client;
}

async function end(client) {
    if (isLegacy && !isPipe) await client.transport.terminateSession();
    await client.close();
}

/** Listens for some kinds of changes, as the modern era does, and returns how to stop. */
async function listenFor(client, filter) {
    const subscription = await client.listen(filter);
    assert.deepEqual(subscription.honoredFilter, filter);
    return () => subscription.close();
}

const TASKS = 'io.modelcontextprotocol/tasks';

const modern = {
    'has no session': ({ client }) => {
        assert.equal(client.transport.sessionId, undefined);
    },
    'discovers the server again': async ({ client }) => {
        const { supportedVersions, capabilities } = await client.discover();
        assert.deepEqual(supportedVersions, [VERSIONS.modern]);
        assert.deepEqual(capabilities.extensions, { [TASKS]: {} });
        assert.equal(capabilities.tasks, undefined);
    }
};

const kind = {
    isLegacy,
    isPipe,
    connect,
    end,
    call: (client, params, options) => client.callTool(params, options),
    version: client => client.getNegotiatedProtocolVersion(),
    ask: (client, method, params = {}) => client.request({ method, params }, z.any()),
    watch: async (client, uri) => {
        if (!isLegacy) return listenFor(client, { resourceSubscriptions: [uri] });
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
    },
    followLists: async client => {
        if (!isLegacy) return listenFor(client, { toolsListChanged: true, promptsListChanged: true });
        return () => {};
    },
    // Over HTTP this client shows our code only with a 2xx or a 400, and the modern era has a 404.
    unknownMethod: isLegacy || isPipe ? METHOD_NOT_FOUND : 'CLIENT_HTTP_NOT_IMPLEMENTED',
    // It translates the code of the legacy era.
    unknownResource: INVALID_PARAMS,
    needsTask: isLegacy ? METHOD_NOT_FOUND : MISSING_CAPABILITY,
    extra: {
        ...(isLegacy ? pings() : modern),
        ...(isLegacy && !isPipe ? sessions(url) : {}),
        ...(isPipe && !isLegacy ? {} : extension(url, isLegacy))
    }
};

await tour(`client 2.4 ${mode}${isPipe ? ' on a pipe' : ''}`, { demo, fixtures }[checks](kind));
