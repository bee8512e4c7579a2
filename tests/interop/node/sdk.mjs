// The tours of @modelcontextprotocol/sdk, which knows the legacy era alone.
// Usage: node sdk.mjs demo|fixtures URL|COMMAND...

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';

import { demo } from './demo.mjs';
import { fixtures } from './fixtures.mjs';
import { countingFetch, pings, sessions } from './session.mjs';
import { METHOD_NOT_FOUND, RESOURCE_NOT_FOUND, VERSIONS, listen, target, tour } from './tour.mjs';

const [checks, ...rest] = process.argv.slice(2);
const { url, ...program } = target(rest);
const isPipe = url === undefined;

async function connect() {
    const client = new Client({ name: 'tour', version: '1' });
    client.told = listen(client);
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
    extra: { ...pings(), ...(isPipe ? {} : sessions(url)) }
};

await tour(`sdk 1.32 legacy${isPipe ? ' on a pipe' : ''}`, { demo, fixtures }[checks](kind));
