// The short tour of the demo server: what somebody does in the first minute.

import assert from 'node:assert/strict';

import { accepting, answering } from './asking.mjs';
import { text } from './tour.mjs';

const TOOLS = ['add', 'ask_name', 'countdown', 'echo', 'slow_report', 'time'];

export function demo({ connect, end, call: callWith }) {
    let client;
    const call = (name, args, options) => callWith(client, { name, arguments: args }, options);
    return {
        connects: async () => {
            client = await connect();
        },
        'lists the tools': async () => {
            const { tools } = await client.listTools();
            const names = tools.map(tool => tool.name);
            assert.deepEqual(TOOLS.filter(name => !names.includes(name)), []);
        },
        echoes: async () => {
            assert.equal(text(await call('echo', { message: 'hello' })), 'hello');
        },
        'adds, in structure and in text': async () => {
            const result = await call('add', { a: 2, b: 40 });
            assert.deepEqual(result.structuredContent, { sum: 42 });
            assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
        },
        'tells the time': async () => {
            assert.match(text(await call('time', {})), /:/);
        },
        'counts down and tells how far it is': async () => {
            const told = [];
            await call('countdown', { from: 2 }, { onprogress: ({ progress }) => void told.push(progress) });
            assert.deepEqual(told, [1, 2]);
        },
        'a call that is given up leaves the client usable': async () => {
            const stop = new AbortController();
            const pending = call('countdown', { from: 1000 }, { signal: stop.signal, onprogress: () => stop.abort() });
            await assert.rejects(pending);
            assert.ok(stop.signal.aborted, 'it failed by itself');
            assert.equal(text(await call('echo', { message: 'again' })), 'again');
        },
        'is asked for a name': async () => {
            const answers = accepting({ name: 'Ada' });
            const { result } = await answering({ client }, answers, () => call('ask_name', {}));
            assert.equal(text(result), 'Hello, Ada!');
        },
        'is asked half-way through a report, and told how far it is': async () => {
            const told = [];
            const options = { onprogress: ({ message }) => void told.push(message) };
            const { result, asked } = await answering({ client }, accepting({ length: 'long' }), () =>
                call('slow_report', { topic: 'tea', step_ms: 10 }, options)
            );
            assert.match(text(result), /^Report on tea: .* This was found by /);
            assert.equal(asked.length, 1);
            assert.deepEqual(told.slice(0, 2), ['collecting', 'sorting']);
        },
        closes: () => end(client)
    };
}
