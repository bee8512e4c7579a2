// The tasks of 2025-11-25, for the package that has words for them.

import assert from 'node:assert/strict';

import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';

import { accepting, answering } from './asking.mjs';
import { BROKEN, INVALID_PARAMS, METHOD_NOT_FOUND, text, until } from './tour.mjs';

const RELATED = 'io.modelcontextprotocol/related-task';

/** How long a task is to be kept, in milliseconds. */
const TTL = 60_000;

export function tasks() {
    return { ...offers(), ...courses(), ...owners() };
}

/** Calls a tool as a task, and yields what is heard of it. */
function stream(client, name, args = {}) {
    const params = { name, arguments: args };
    return client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: TTL } });
}

/** Calls a tool as a task, and follows it to its end. */
async function follow(client, name, args) {
    const heard = [];
    for await (const message of stream(client, name, args)) heard.push(message);
    const [{ type, task }] = heard;
    assert.equal(type, 'taskCreated', JSON.stringify(heard));
    const told = heard.filter(({ type }) => type === 'taskStatus');
    return { created: task, statuses: told.map(({ task }) => task.status), last: heard.at(-1) };
}

/** Calls a tool as a task, and leaves it alone. */
async function begin(client, name, args) {
    const heard = stream(client, name, args);
    const { value } = await heard.next();
    await heard.return();
    assert.equal(value.type, 'taskCreated', JSON.stringify(value));
    return value.task;
}

const look = (client, { taskId }) => client.experimental.tasks.getTask(taskId);
const fetched = (client, { taskId }) => client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

function offers() {
    return {
        'the server offers tasks': ({ client }) => {
            const { tasks } = client.getServerCapabilities();
            assert.deepEqual(tasks, { list: {}, cancel: {}, requests: { tools: { call: {} } } });
        },
        'lists which tools can be tasks, and which have to': async ({ client }) => {
            const { tools } = await client.listTools();
            const support = name => tools.find(tool => tool.name === name).execution?.taskSupport ?? 'forbidden';
            assert.deepEqual(['greet', 'slow_compute', 'failing_job'].map(support), [
                'forbidden',
                'optional',
                'required'
            ]);
        },
        'a tool that cannot be a task is refused as one': async ({ client }) => {
            const { value } = await stream(client, 'greet', { name: 'Ada' }).next();
            assert.deepEqual([value.type, value.error?.code], ['error', METHOD_NOT_FOUND]);
        },
        'an unknown task is an error': async ({ client }) => {
            await assert.rejects(look(client, { taskId: 'no-such-task' }), { code: INVALID_PARAMS });
        }
    };
}

function courses() {
    return {
        'a task is followed to its result': async ({ client }) => {
            const { created, statuses, last } = await follow(client, 'slow_compute', { seconds: 0.3, label: 'sums' });
            assert.deepEqual([created.status, created.ttl, created.pollInterval], ['working', TTL, 100]);
            assert.equal(last.type, 'result', JSON.stringify(last));
            assert.equal(text(last.result), 'Computed sums in 0.3 s.');
            assert.deepEqual([...new Set(statuses)], ['working', 'completed']);
        },
        'the result of a task can be had again': async ({ client }) => {
            const { created, last } = await follow(client, 'slow_compute', { seconds: 0, label: 'sums' });
            assert.equal((await look(client, created)).status, 'completed');
            const again = await fetched(client, created);
            assert.deepEqual(again, last.result);
            assert.deepEqual(again._meta[RELATED], { taskId: created.taskId });
        },
        'a task asks whoever waits for its result': async tourist => {
            const { result, asked } = await answering(tourist, accepting({ confirm: true }), ({ client }) =>
                follow(client, 'confirm_delete', { filename: 'a.txt' })
            );
            assert.equal(text(result.last.result), 'Deleted a.txt.');
            assert.equal(asked.length, 1);
            const { message, _meta } = asked[0].params;
            assert.equal(message, 'Do you want to delete a.txt?');
            assert.deepEqual(_meta[RELATED], { taskId: result.created.taskId });
        },
        'a task asks two things at once': async tourist => {
            const answers = accepting({ name: 'Ada', confirm: true });
            const { result, asked } = await answering(tourist, answers, ({ client }) => follow(client, 'multi_input'));
            assert.equal(asked.length, 2);
            assert.equal(text(result.last.result), 'name=Ada, confirm=true');
        },
        'a call asks before it becomes a task': async tourist => {
            const { result, asked } = await answering(tourist, accepting({ name: 'Ada' }), ({ client }) =>
                follow(client, 'test_tool_with_task')
            );
            assert.equal(asked.length, 1);
            assert.equal(text(result.last.result), 'Hello, Ada!');
        },
        'a task that fails has a result, and one that breaks an error': async ({ client }) => {
            const failed = await follow(client, 'failing_job');
            assert.equal(failed.statuses.at(-1), 'failed');
            assert.equal((await fetched(client, failed.created)).isError, true);
            const broken = await follow(client, 'protocol_error_job');
            assert.equal(broken.statuses.at(-1), 'failed');
            await assert.rejects(fetched(client, broken.created), { code: BROKEN });
        },
        'a task tells what it does, until it is cancelled': async ({ client }) => {
            const task = await begin(client, 'slow_compute', { seconds: 60, label: 'sums' });
            await until(async () => (await look(client, task)).statusMessage === 'computing sums');
            const cancelled = await client.experimental.tasks.cancelTask(task.taskId);
            assert.equal(cancelled.status, 'cancelled');
            assert.equal((await look(client, task)).status, 'cancelled');
            const again = client.experimental.tasks.cancelTask(task.taskId);
            await assert.rejects(again, { code: INVALID_PARAMS });
        }
    };
}

function owners() {
    return {
        'a client has its own tasks': async ({ client, connect, end }) => {
            const task = await begin(client, 'slow_compute', { seconds: 60, label: 'sums' });
            const listed = async client => {
                const { tasks } = await client.experimental.tasks.listTasks();
                return tasks.map(({ taskId }) => taskId);
            };
            assert.ok((await listed(client)).includes(task.taskId));
            const other = await connect();
            assert.deepEqual(await listed(other), []);
            await assert.rejects(look(other, task), { code: INVALID_PARAMS });
            await end(other);
            await client.experimental.tasks.cancelTask(task.taskId);
        }
    };
}
