// The tours of @modelcontextprotocol/sdk, which knows the legacy era alone.
// Usage: node sdk.mjs demo|fixtures URL|COMMAND...

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
    CreateMessageRequestSchema,
    ElicitRequestSchema,
    ListRootsRequestSchema
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

import { CAPABILITIES, answerable } from './asking.mjs';
import { demo } from './demo.mjs';
import { fixtures } from './fixtures.mjs';
import { countingFetch, pings, sessions } from './session.mjs';
import { tasks } from './tasks.mjs';
import {
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    VERSIONS,
    listen,
    target,
    tour
} from './tour.mjs';

const [checks, ...rest] = process.argv.slice(2);
const { url, ...program } = target(rest);
const isPipe = url === undefined;

const QUESTIONS = {
    'elicitation/create': ElicitRequestSchema,
    'sampling/createMessage': CreateMessageRequestSchema,
    'roots/list': ListRootsRequestSchema
};

async function connect(capabilities = CAPABILITIES) {
    const client = new Client({ name: 'tour', version: '1' }, { capabilities });
    client.told = listen(client);
    answerable(client, capabilities, (method, answer) => client.setRequestHandler(QUESTIONS[method], answer));
    await client.connect(isPipe ? pipe() : new StreamableHTTPClientTransport(url, { fetch: countingFetch(client) }));
    return client;
}

function pipe() {
    const transport = new StdioClientTransport(program);
    // The one over HTTP keeps what was agreed on by itself.
    transport.setProtocolVersion = version => {
        transport.protocolVersion = version;
    };
    return transport;
}

async function end(client) {
    if (!isPipe) await client.transport.terminateSession();
    await client.close();
}

const kind = {
    isLegacy: true,
    isPipe,
    connect,
    end,
    call: (client, params, options) => client.callTool(params, undefined, options),
    version: client => client.transport.protocolVersion,
    ask: (client, method, params = {}) => client.request({ method, params }, z.any()),
    watch: async (client, uri) => {
        await client.subscribeResource({ uri });
        return () => client.unsubscribeResource({ uri });
    },
    followLists: async () => () => {},
    unknownMethod: METHOD_NOT_FOUND,
    unknownResource: RESOURCE_NOT_FOUND,
    // It does not even ask the server.
    needsTask: INVALID_REQUEST,
    extra: { ...pings(), ...(isPipe ? {} : sessions(url)), ...tasks() }
};

await tour(`sdk 1.32 legacy${isPipe ? ' on a pipe' : ''}`, { demo, fixtures }[checks](kind));
