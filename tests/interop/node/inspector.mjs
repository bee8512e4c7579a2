// The tour of the Inspector's command line, which connects anew for each question.
// Usage: node inspector.mjs modern|auto|legacy URL|COMMAND...

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { VERSIONS, text, tour } from './tour.mjs';

/** How many of them run at once. */
const LANES = 3;

const [mode, ...target] = process.argv.slice(2);
const isLegacy = mode === 'legacy';
const isPipe = !target[0].startsWith('http');
const inspector = path.join(
    path.dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/inspector/package.json')),
    'clients/cli/build/index.js'
);

// It keeps files at home.
const home = mkdtempSync(path.join(tmpdir(), 'conduit-inspector-'));
process.on('exit', () => rmSync(home, { recursive: true }));
const env = { ...process.env, HOME: home };

/** What waits for a free lane. */
const waiting = [];
let running = 0;

/** Asks the server something, as soon as a lane is free. */
function ask(method, ...options) {
    const flags = ['--protocol-era', mode, '--format', 'json', '--method', method, ...options];
    const words = isPipe ? [...flags, '--', ...target] : [...target, '--transport', 'http', ...flags];
    return new Promise(resolve => {
        waiting.push(done =>
            execFile(process.execPath, [inspector, ...words], { env }, (problem, out, said) => {
                resolve({ status: problem?.code ?? 0, out, said });
                done();
            })
        );
        next();
    });
}

function next() {
    if (running === LANES || waiting.length === 0) return;
    running += 1;
    waiting.shift()(() => {
        running -= 1;
        next();
    });
}

const call = (name, args = {}) => ask('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));

async function result(asked) {
    const { out, said } = await asked;
    assert.ok(out, said);
    return JSON.parse(out).result;
}

/** The code of what it complains about. */
async function complaint(asked) {
    const { said } = await asked;
    const line = said.split('\n').find(line => line.startsWith('{"error"'));
    assert.ok(line, said);
    return JSON.parse(line).error.code;
}

// All are asked at once, and looked at one by one.
const asked = {
    introduction: ask('initialize'),
    tools: ask('tools/list', '--strict'),
    sum: call('tour_structured', { a: 2, b: 40.5 }),
    echo: call('tour_echo', { text: 'Zażółć 🦀' }),
    header: call('test_x_mcp_header', { region: 'Zürich', level: 3 }),
    failure: call('test_error_handling'),
    unknown: call('no_such_tool'),
    load: ask('tools/call', '--tool-name', 'tour_echo', '--tool-arg', 'text=hi', '--load', '--load-requests', '100'),
    resources: ask('resources/list'),
    contents: ask('resources/read', '--uri', 'test://static-text'),
    templates: ask('resources/templates/list'),
    prompts: ask('prompts/list'),
    prompt: ask('prompts/get', '--prompt-name', 'test_prompt_with_arguments', '--prompt-args', 'arg1=one', 'arg2=two'),
    ...(isLegacy ? { level: ask('logging/setLevel', '--log-level', 'debug') } : {})
};

const checks = {
    connects: async () => {
        const { serverInfo, protocolVersion } = await result(asked.introduction);
        assert.equal(serverInfo.name, 'conformance');
        assert.equal(protocolVersion, VERSIONS[isLegacy ? 'legacy' : 'modern']);
    },
    'lists the tools, whose schemas are portable': async () => {
        const { tools } = await result(asked.tools);
        assert.equal(tools[0].name, 'test_simple_text');
        const { status, said } = await asked.tools;
        assert.equal(status, 0, said);
        assert.doesNotMatch(said, /^ *Issue:/m);
    },
    'is answered with text': async () => {
        assert.equal(text(await result(asked.echo)), 'Zażółć 🦀');
    },
    'is answered in structure': async () => {
        assert.deepEqual((await result(asked.sum)).structuredContent, { sum: 42.5, label: 'sum' });
    },
    'sends an argument in a header too': async () => {
        assert.equal(text(await result(asked.header)), 'region=Zürich, level=3');
    },
    'a tool that fails is a result': async () => {
        assert.equal(text(await result(asked.failure)), 'This tool intentionally returns an error for testing');
        assert.equal(await complaint(asked.failure), 'tool_is_error');
    },
    'an unknown tool is an error': async () => {
        assert.equal(await complaint(asked.unknown), 'tool_not_found');
    },
    'a hundred calls are answered': async () => {
        const { ok, errors, toolErrors } = await result(asked.load);
        assert.deepEqual([ok, errors, toolErrors], [100, 0, 0]);
    },
    'lists the resources of all pages': async () => {
        assert.equal((await result(asked.resources)).resources.length, 29);
    },
    'reads a resource': async () => {
        const { contents } = await result(asked.contents);
        assert.deepEqual(contents.map(one => one.text), ['This is the content of the static text resource.']);
    },
    'lists the templates and the prompts': async () => {
        const { resourceTemplates } = await result(asked.templates);
        assert.deepEqual(resourceTemplates.map(one => one.uriTemplate), ['test://template/{id}/data']);
        assert.equal((await result(asked.prompts)).prompts.length, 5);
    },
    'gets a prompt': async () => {
        const { messages } = await result(asked.prompt);
        assert.equal(messages[0].content.text, "Prompt with arguments: arg1='one', arg2='two'");
    }
};
if (isLegacy) {
    checks['sets the level of the log'] = async () => {
        assert.ok(await result(asked.level));
    };
}

await tour(`inspector 2.12 ${mode}${isPipe ? ' on a pipe' : ''}`, checks);
