// Tasks of both eras, for the package that adds them to @modelcontextprotocol/client. Those
// of the modern era it sends past the client, by HTTP alone.

import assert from 'node:assert/strict';

import {
    createApplicationInputHandler,
    createTaskSessionFromClient,
    resultFromTaskOutcome,
    toolDeclarationFromMcpTool
} from '@modelcontextprotocol/ext-tasks/client';

import { CAPABILITIES, accepting, answering } from './asking.mjs';
import { BROKEN, VERSIONS, text, until } from './tour.mjs';

/** The checks of a client of one era. */
export function extension(url, isLegacy) {
    /** Lends a check a session that knows tasks, and `begin`, which calls a tool that has to become one. */
    const within = body => async tourist => {
        const { client } = tourist;
        const { tools } = await client.listTools();
        const options = { endpointId: 'tour', onInputRequest: answers(client), ...(isLegacy ? {} : raw(url)) };
        const session = createTaskSessionFromClient(client, options);
        const begin = async (name, args = {}) => {
            const declaration = toolDeclarationFromMcpTool(tools.find(tool => tool.name === name));
            const execution = await session.callTool(name, args, { declaration, task: { preference: 'require' } });
            assert.equal(execution.kind, 'task');
            return execution;
        };
        try {
            await body({ ...tourist, session, begin });
        } finally {
            await session.close();
        }
    };
    // In the legacy era it fetches neither what a task asks nor the result of one that has failed.
    const checks = isLegacy ? courses() : { ...courses(), ...modern() };
    return Object.fromEntries(Object.entries(checks).map(([name, body]) => [name, within(body)]));
}

function courses() {
    return {
        'a task is followed to its result': async ({ begin }) => {
            const execution = await begin('slow_compute', { seconds: 0.3, label: 'sums' });
            const seen = [];
            const { outcome } = await execution.settle({ onEvent: event => void seen.push(event) });
            assert.equal(text(resultFromTaskOutcome(outcome)), 'Computed sums in 0.3 s.');
            assert.ok(seen.some(({ type, task }) => type === 'task' && task.status === 'working'));
        },
        'a task tells what it does, until it is cancelled': async ({ session, begin }) => {
            const execution = await begin('slow_compute', { seconds: 60, label: 'sums' });
            const task = session.task(execution.handle.taskId);
            await until(async () => (await task.snapshot()).statusMessage === 'computing sums');
            await execution.cancel();
            assert.equal((await settled(execution)).status, 'cancelled');
            assert.equal((await task.snapshot()).status, 'cancelled');
        }
    };
}

function modern() {
    const answered = (tourist, content, name, args) =>
        answering(tourist, accepting(content), ({ begin }) => settled(begin(name, args)));
    return {
        'a task asks, and goes on with the answer': async tourist => {
            const args = { filename: 'a.txt' };
            const { result, asked } = await answered(tourist, { confirm: true }, 'confirm_delete', args);
            assert.equal(text(resultFromTaskOutcome(result)), 'Deleted a.txt.');
            assert.deepEqual(asked.map(({ params }) => params.message), ['Do you want to delete a.txt?']);
        },
        'a task asks two things at once': async tourist => {
            const { result, asked } = await answered(tourist, { name: 'Ada', confirm: true }, 'multi_input');
            assert.equal(text(resultFromTaskOutcome(result)), 'name=Ada, confirm=true');
            assert.equal(asked.length, 2);
        },
        'a call asks before it becomes a task': async tourist => {
            const { result, asked } = await answered(tourist, { name: 'Ada' }, 'test_tool_with_task');
            assert.equal(text(resultFromTaskOutcome(result)), 'Hello, Ada!');
            assert.equal(asked.length, 1);
        },
        'a task that fails has a result, and one that breaks an error': async ({ begin }) => {
            const failed = await settled(begin('failing_job'));
            assert.equal(resultFromTaskOutcome(failed).isError, true);
            const { status, error } = await settled(begin('protocol_error_job'));
            assert.deepEqual([status, error.code], ['failed', BROKEN]);
        }
    };
}

/** What comes of a call that has become a task. */
async function settled(execution) {
    const { outcome } = await (await execution).settle();
    return outcome;
}

/** Lets the client answer what its own package does not get to see. */
function answers(client) {
    const answer = method => ({ params }) => {
        client.asked.push({ method, params });
        return client.answers[method](params);
    };
    return createApplicationInputHandler({
        elicitation: answer('elicitation/create'),
        sampling: answer('sampling/createMessage'),
        roots: answer('roots/list')
    });
}

/** Sends past the client what it does not understand the answer to. */
function raw(url) {
    let id = 0;
    const rawDispatch = async ({ method, params }, { signal, context } = {}) => {
        const headers = {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            'mcp-protocol-version': VERSIONS.modern,
            'mcp-method': method,
            ...(params.name === undefined ? {} : { 'mcp-name': params.name }),
            ...context?.headers
        };
        id += 1;
        const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
        const { result, error } = await (await fetch(url, { method: 'POST', headers, body, signal })).json();
        return error === undefined ? { kind: 'result', result } : { kind: 'error', error };
    };
    const v2RequestFraming = {
        protocolVersion: VERSIONS.modern,
        clientInfo: { name: 'tour', version: '1' },
        clientCapabilities: CAPABILITIES
    };
    return { rawDispatch, v2RequestFraming };
}
