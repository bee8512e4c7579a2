// What every client does with the demo server, whichever package it comes from.
//
// A client is given by how it does what the packages do differently: `connect` returns
// a connected one, `end` closes it, `call` calls a tool, `version` tells what was
// agreed on, and `ask` sends any method. `unknownMethod` is the code that its users
// see when the server does not know one; `extra` are checks of its own.

import assert from 'node:assert/strict';

const TOOLS = ['add', 'countdown', 'echo', 'time'];
const INVALID_PARAMS = -32602;
export const METHOD_NOT_FOUND = -32601;

/** Runs every check, prints a line for each, and exits with what came of it. */
export async function tour({ label, expected, connect, end, call: callWith, version, ask, unknownMethod, extra }) {
    let passed = 0;
    let failed = 0;
    const check = async (name, body) => {
        try {
            await body();
            passed += 1;
            console.log(`ok    ${label}: ${name}`);
        } catch (problem) {
            failed += 1;
            console.log(`FAIL  ${label}: ${name}\n      ${problem?.stack ?? problem}`);
        }
    };

    let client;
    await check('connects', async () => {
        client = await connect();
    });
    if (client === undefined) finish(passed, failed);

    const call = (name, args, options) => callWith(client, { name, arguments: args }, options);

    await check('the server introduces itself', () => {
        assert.ok(client.getServerVersion()?.name);
        assert.ok(client.getServerCapabilities()?.tools);
    });
    await check(`speaks ${expected}`, () => {
        assert.equal(version(client), expected);
    });
    await check('lists the tools', async () => {
        const { tools } = await client.listTools();
        assert.deepEqual(tools.map(tool => tool.name).filter(name => TOOLS.includes(name)).sort(), TOOLS);
        for (const tool of tools) {
            assert.ok(tool.description, `${tool.name} has no description`);
            assert.equal(tool.inputSchema.type, 'object');
        }
    });
    await check('echoes any text', async () => {
        for (const message of ['hello', '', 'Zażółć gęślą jaźń 🦀', 'line\nline "quoted" \\']) {
            assert.equal(text(await call('echo', { message })), message);
        }
    });
    await check('echoes a megabyte', async () => {
        const message = 'x'.repeat(1024 * 1024);
        assert.equal(text(await call('echo', { message })), message);
    });
    await check('adds, in structure and in text', async () => {
        const result = await call('add', { a: 2, b: 40 });
        assert.ok(Object.values(result.structuredContent).includes(42), JSON.stringify(result));
        assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
    });
    await check('tells the time', async () => {
        assert.match(text(await call('time', {})), /:/);
    });
    await check('counts down and tells how far it is', async () => {
        const told = [];
        const result = await call('countdown', { from: 3 }, { onprogress: ({ progress }) => void told.push(progress) });
        assert.ok(!result.isError, JSON.stringify(result));
        assert.ok(told.length > 0, 'no progress was told');
        assert.ok(told.every((progress, at) => at === 0 || progress > told[at - 1]), `${told}`);
    });
    await check('counts down in silence when nobody asks', async () => {
        assert.ok(!(await call('countdown', { from: 1 })).isError);
    });
    await check('wrong arguments are a result that points at them', async () => {
        const result = await call('add', { a: 'one', b: 2 });
        assert.equal(result.isError, true);
        assert.match(text(result), /\/a/);
    });
    await check('an unknown tool is an error', async () => {
        await assert.rejects(call('no_such_tool', {}), { code: INVALID_PARAMS });
    });
    await check('an unknown method is an error', async () => {
        await assert.rejects(ask(client, 'no/such'), { code: unknownMethod });
    });
    await check('twenty calls at once are answered each to its own', async () => {
        const messages = Array.from({ length: 20 }, (_, at) => `number ${at}`);
        const results = await Promise.all(messages.map(message => call('echo', { message })));
        assert.deepEqual(results.map(text), messages);
    });
    await check('a call that is given up leaves the client usable', async () => {
        const stop = new AbortController();
        const pending = call('countdown', { from: 1000 }, { signal: stop.signal, onprogress: () => stop.abort() });
        await assert.rejects(pending);
        assert.ok(stop.signal.aborted, 'it failed by itself');
        assert.equal(text(await call('echo', { message: 'again' })), 'again');
    });
    await check('two clients are served at once', async () => {
        const other = await connect();
        const [ours, theirs] = await Promise.all([
            call('echo', { message: 'ours' }),
            callWith(other, { name: 'echo', arguments: { message: 'theirs' } })
        ]);
        assert.deepEqual([text(ours), text(theirs)], ['ours', 'theirs']);
        await end(other);
        assert.equal(text(await call('echo', { message: 'still' })), 'still');
    });
    for (const [name, body] of Object.entries(extra)) {
        await check(name, () => body(client));
    }
    await check('closes', async () => {
        await end(client);
    });
    finish(passed, failed);
}

function text(result) {
    const [first] = result.content;
    assert.equal(first?.type, 'text', JSON.stringify(result));
    return first.text;
}

function finish(passed, failed) {
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed === 0 ? 0 : 1);
}
