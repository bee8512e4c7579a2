// The tour of the server for conformance: what every client does with it, whichever
// package it comes from. Names and texts are the server's, to the letter.
//
// A client is given by how it does what the packages do differently: `connect` returns
// a connected one that keeps what it is told in `told` and can be asked for some things or
// for all, `end` closes it, `call` calls a tool, `ask` sends any method, `version` tells
// what was agreed on, and `watch` and `followLists` ask for changes and return how to stop.
// `unknownMethod` and `unknownResource` are the codes that its users see when the server
// does not know one, `needsTask` that of a tool that has to be a task; `extra` are checks of
// its own.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';

import { asking } from './asking.mjs';
import { jobs } from './jobs.mjs';
import { INVALID_PARAMS, VERSIONS, pause, text, until } from './tour.mjs';

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
const LOGGED = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
const TOOLS = [
    'confirm_delete',
    'failing_job',
    'greet',
    'json_schema_2020_12_tool',
    'multi_input',
    'protocol_error_job',
    'slow_compute',
    'test_audio_content',
    'test_elicitation',
    'test_elicitation_sep1034_defaults',
    'test_elicitation_sep1330_enums',
    'test_embedded_resource',
    'test_error_handling',
    'test_image_content',
    'test_input_required_result_capabilities',
    'test_input_required_result_elicitation',
    'test_input_required_result_list_roots',
    'test_input_required_result_multi_round',
    'test_input_required_result_multiple_inputs',
    'test_input_required_result_request_state',
    'test_input_required_result_sampling',
    'test_input_required_result_tampered_state',
    'test_logging_tool',
    'test_missing_capability',
    'test_multiple_content_types',
    'test_reconnection',
    'test_sampling',
    'test_simple_text',
    'test_streaming_elicitation',
    'test_tool_with_logging',
    'test_tool_with_progress',
    'test_tool_with_task',
    'test_trigger_prompt_change',
    'test_trigger_tool_change',
    'test_x_mcp_header',
    'tour_echo',
    'tour_resource_link',
    'tour_slow',
    'tour_slow_status',
    'tour_structured',
    'tour_touch_resource',
    'tour_visit'
];
const WATCHED = 'test://watched-resource';
const ITEMS = Array.from({ length: 25 }, (_, at) => `tour://item/${at + 1}`);
const RESOURCES = ['test://static-text', 'test://static-binary', WATCHED, 'tour://welcome', ...ITEMS];
const PROMPTS = [
    'test_input_required_result_prompt',
    'test_prompt_with_arguments',
    'test_prompt_with_embedded_resource',
    'test_prompt_with_image',
    'test_simple_prompt'
];

/** How long nothing has to come before we believe that nothing will, in milliseconds. */
const SILENCE = 300;

/** The same for what comes before the answer, if it comes at all. */
const BREATH = 50;

export function fixtures(kind) {
    const tourist = {
        ...kind,
        client: undefined,
        call(name, args = {}, options = undefined, more = {}) {
            return kind.call(this.client, { name, arguments: args, ...more }, options);
        },
        /** What the client has been told by one method since the last question. */
        told(method) {
            const { told } = this.client;
            const matching = told.filter(one => one.method === method);
            told.length = 0;
            return matching.map(one => one.params);
        }
    };
    return {
        connects: async () => {
            tourist.client = await kind.connect();
        },
        ...introduction(tourist),
        ...content(tourist),
        ...failures(tourist),
        ...onTheWay(tourist),
        ...cancellation(tourist),
        ...resources(tourist),
        ...prompts(tourist),
        ...changes(tourist),
        ...asking(tourist),
        ...jobs(tourist),
        ...crowds(tourist),
        ...Object.fromEntries(Object.entries(kind.extra).map(([name, body]) => [name, () => body(tourist)])),
        closes: () => kind.end(tourist.client)
    };
}

function introduction(tourist) {
    const { isLegacy } = tourist;
    return {
        'the server introduces itself': () => {
            const { name, title, version } = tourist.client.getServerVersion();
            assert.deepEqual([name, title], ['conformance', 'Conformance']);
            assert.ok(version);
            assert.equal(tourist.client.getInstructions(), 'A server for the conformance suite and for tours.');
        },
        'the server tells what it can do': () => {
            const { tools, resources, prompts, completions, logging } = tourist.client.getServerCapabilities();
            assert.equal(tools.listChanged, true);
            assert.deepEqual([resources.listChanged, resources.subscribe], [true, true]);
            assert.equal(prompts.listChanged, true);
            assert.ok(completions);
            assert.ok(logging);
        },
        [`speaks ${VERSIONS[isLegacy ? 'legacy' : 'modern']}`]: () => {
            assert.equal(tourist.version(tourist.client), VERSIONS[isLegacy ? 'legacy' : 'modern']);
        },
        'lists the tools on one page': async () => {
            const { tools, nextCursor } = await tourist.client.listTools();
            assert.equal(nextCursor, undefined);
            assert.equal(tools[0].name, 'test_simple_text');
            const names = tools.map(tool => tool.name);
            assert.deepEqual(TOOLS.filter(name => !names.includes(name)), []);
            for (const tool of tools) {
                assert.ok(tool.description, `${tool.name} has no description`);
                assert.equal(tool.inputSchema.type, 'object');
            }
        },
        'lists every keyword of a schema': async () => {
            const { tools } = await tourist.client.listTools();
            const { inputSchema } = tools.find(tool => tool.name === 'json_schema_2020_12_tool');
            assert.equal(inputSchema.$schema, 'https://json-schema.org/draft/2020-12/schema');
            assert.equal(inputSchema.$defs.address.$anchor, 'addressDef');
            assert.equal(inputSchema.properties.address.$ref, '#/$defs/address');
            assert.deepEqual(inputSchema.allOf, [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }]);
            assert.deepEqual(inputSchema.if.properties.contactMethod, { const: 'phone' });
            assert.deepEqual([inputSchema.then, inputSchema.else], [{ required: ['phone'] }, { required: ['email'] }]);
            assert.equal(inputSchema.additionalProperties, false);
        }
    };
}

function content(tourist) {
    return {
        'is answered with text': async () => {
            assert.equal(text(await tourist.call('test_simple_text')), 'This is a simple text response for testing.');
        },
        'is answered with a picture and a sound': async () => {
            const [image] = (await tourist.call('test_image_content')).content;
            isPicture(image);
            const [sound] = (await tourist.call('test_audio_content')).content;
            assert.deepEqual([sound.type, sound.mimeType], ['audio', 'audio/wav']);
            assert.equal(Buffer.from(sound.data, 'base64').toString('latin1', 0, 4), 'RIFF');
        },
        'is answered with a resource, and with a link to one': async () => {
            const [embedded] = (await tourist.call('test_embedded_resource')).content;
            assert.equal(embedded.type, 'resource');
            assert.deepEqual(embedded.resource, {
                uri: 'test://embedded-resource',
                mimeType: 'text/plain',
                text: 'This is an embedded resource content.'
            });
            const [link] = (await tourist.call('tour_resource_link')).content;
            assert.deepEqual([link.type, link.uri], ['resource_link', 'test://static-text']);
        },
        'is answered with several kinds at once': async () => {
            const [first, second, third] = (await tourist.call('test_multiple_content_types')).content;
            assert.deepEqual(first, { type: 'text', text: 'Multiple content types test:' });
            isPicture(second);
            assert.deepEqual(third.resource, {
                uri: 'test://mixed-content-resource',
                mimeType: 'application/json',
                text: '{"test":"data","value":123}'
            });
        },
        'is answered in structure, and the same in text': async () => {
            const result = await tourist.call('tour_structured', { a: 2, b: 40.5 });
            assert.deepEqual(result.structuredContent, { sum: 42.5, label: 'sum' });
            assert.deepEqual(JSON.parse(text(result)), result.structuredContent);
        },
        'gets any text back': async () => {
            for (const sent of ['hello', '', 'Zażółć gęślą jaźń 🦀', 'line\nline "quoted" \\ \u0000\u2028']) {
                assert.equal(text(await tourist.call('tour_echo', { text: sent })), sent);
            }
        },
        'gets a megabyte back': async () => {
            const sent = 'x'.repeat(1024 * 1024);
            assert.equal(text(await tourist.call('tour_echo', { text: sent })), sent);
        },
        'sends an argument in a header too': async () => {
            const result = await tourist.call('test_x_mcp_header', { region: 'Zürich 🦀', level: 3 });
            assert.equal(text(result), 'region=Zürich 🦀, level=3');
        }
    };
}

function failures(tourist) {
    return {
        'a tool that fails is a result': async () => {
            const result = await tourist.call('test_error_handling');
            assert.equal(result.isError, true);
            assert.equal(text(result), 'This tool intentionally returns an error for testing');
        },
        'wrong arguments are a result that points at them': async () => {
            const result = await tourist.call('tour_structured', { a: 'one', b: 2 });
            assert.equal(result.isError, true);
            assert.match(text(result), /\/a/);
        },
        'an unknown tool is an error': async () => {
            await assert.rejects(tourist.call('no_such_tool'), { code: INVALID_PARAMS });
        },
        'an unknown method is an error': async () => {
            await assert.rejects(tourist.ask(tourist.client, 'no/such'), { code: tourist.unknownMethod });
        },
        'an unknown resource is an error that names it': async () => {
            const uri = 'test://nonexistent-resource-for-conformance-testing';
            const code = tourist.unknownResource;
            await assert.rejects(tourist.client.readResource({ uri }), { code, data: { uri } });
        },
        'an unknown prompt, and one without its arguments, are errors': async () => {
            const { client } = tourist;
            await assert.rejects(client.getPrompt({ name: 'no_such_prompt' }), { code: INVALID_PARAMS });
            const half = { name: 'test_prompt_with_arguments', arguments: { arg1: 'one' } };
            await assert.rejects(client.getPrompt(half), { code: INVALID_PARAMS });
        },
        'a cursor that the server did not make is an error': async () => {
            const cursor = 'no-such-cursor';
            await assert.rejects(tourist.client.listResources({ cursor }), { code: INVALID_PARAMS });
        }
    };
}

function onTheWay(tourist) {
    const logged = () => tourist.told('notifications/message');
    const always = {
        'is told the progress that it asks for': async () => {
            const told = [];
            await tourist.call('test_tool_with_progress', {}, { onprogress: at => void told.push(at) });
            assert.ok(told.every(({ total }) => total === 100), JSON.stringify(told));
            const steps = told.map(({ progress }) => progress);
            // On a pipe these packages drop what arrives together with the result.
            assert.deepEqual(tourist.isPipe ? steps.slice(0, 2) : steps, tourist.isPipe ? [0, 50] : [0, 50, 100]);
        },
        'is told no progress that it did not ask for': async () => {
            logged();
            assert.ok(!(await tourist.call('test_tool_with_progress')).isError);
            await pause(BREATH);
            assert.deepEqual(tourist.told('notifications/progress'), []);
        }
    };
    const legacy = {
        'is told what a tool logs, from the level that it sets': async () => {
            const told = async level => {
                if (level !== undefined) await tourist.client.setLoggingLevel(level);
                logged();
                await tourist.call('test_tool_with_logging');
                await pause(BREATH);
                return logged();
            };
            for (const level of [undefined, 'debug', 'info']) {
                const lines = await told(level);
                assert.deepEqual(lines.map(line => line.data), LOGGED, `at ${level}`);
                assert.ok(lines.every(line => line.level === 'info'));
            }
            assert.deepEqual(await told('warning'), []);
            await tourist.client.setLoggingLevel('info');
        }
    };
    const modern = {
        'is told what a tool logs, if it asks for it': async () => {
            const told = async level => {
                logged();
                const _meta = level === undefined ? undefined : { [LOG_LEVEL]: level };
                await tourist.call('test_tool_with_logging', {}, undefined, { _meta });
                await pause(BREATH);
                return logged().map(line => line.data);
            };
            assert.deepEqual(await told('info'), LOGGED);
            assert.deepEqual(await told('debug'), LOGGED);
            assert.deepEqual(await told('warning'), []);
            assert.deepEqual(await told(undefined), []);
        }
    };
    return { ...always, ...(tourist.isLegacy ? legacy : modern) };
}

function cancellation(tourist) {
    const seen = async tag => (await tourist.call('tour_slow_status', { tag })).structuredContent;
    return {
        'a call runs to its end': async () => {
            const tag = randomUUID();
            assert.deepEqual(await seen(tag), { started: false, cancelled: false, completed: false });
            assert.equal(text(await tourist.call('tour_slow', { ms: 50, tag })), 'slept for 50 ms');
            assert.deepEqual(await seen(tag), { started: true, cancelled: false, completed: true });
        },
        'a call that is given up is stopped': async () => {
            const tag = randomUUID();
            const stop = new AbortController();
            const call = tourist.call('tour_slow', { ms: 60_000, tag }, { signal: stop.signal });
            await until(async () => (await seen(tag)).started);
            stop.abort();
            await assert.rejects(call);
            await until(async () => (await seen(tag)).cancelled);
            assert.deepEqual(await seen(tag), { started: true, cancelled: true, completed: false });
        }
    };
}

function resources(tourist) {
    const read = async uri => {
        const { contents } = await tourist.client.readResource({ uri });
        assert.equal(contents.length, 1);
        assert.equal(contents[0].uri, uri);
        return contents[0];
    };
    return {
        'lists the resources in pages of ten': async () => {
            const pages = [];
            let cursor;
            do {
                const page = await tourist.ask(tourist.client, 'resources/list', cursor === undefined ? {} : { cursor });
                pages.push(page.resources.map(resource => resource.uri));
                cursor = page.nextCursor;
            } while (cursor !== undefined);
            assert.deepEqual(pages.map(page => page.length), [10, 10, 9]);
            assert.deepEqual(pages.flat().sort(), [...RESOURCES].sort());
        },
        'reads a text and a picture': async () => {
            const fixed = await read('test://static-text');
            assert.deepEqual(
                [fixed.mimeType, fixed.text],
                ['text/plain', 'This is the content of the static text resource.']
            );
            const picture = await read('test://static-binary');
            assert.equal(picture.mimeType, 'image/png');
            assert.deepEqual(Buffer.from(picture.blob, 'base64').subarray(0, 8), PNG);
            assert.equal((await read('tour://item/25')).text, 'This is item 25.');
        },
        'reads by a template': async () => {
            const { resourceTemplates } = await tourist.client.listResourceTemplates();
            assert.deepEqual(resourceTemplates.map(one => one.uriTemplate), ['test://template/{id}/data']);
            const data = await read('test://template/123/data');
            assert.equal(data.mimeType, 'application/json');
            assert.deepEqual(JSON.parse(data.text), { id: '123', templateTest: true, data: 'Data for ID: 123' });
        }
    };
}

function prompts(tourist) {
    const get = async (name, args) => (await tourist.client.getPrompt({ name, arguments: args })).messages;
    const complete = async (ref, name, value) =>
        (await tourist.client.complete({ ref, argument: { name, value } })).completion.values;
    return {
        'lists the prompts': async () => {
            const { prompts } = await tourist.client.listPrompts();
            assert.deepEqual(prompts.map(prompt => prompt.name).sort(), PROMPTS);
            const { arguments: args } = prompts.find(prompt => prompt.name === 'test_prompt_with_arguments');
            assert.deepEqual(args.map(one => [one.name, one.required]), [['arg1', true], ['arg2', true]]);
        },
        'gets prompts of text': async () => {
            const [simple] = await get('test_simple_prompt');
            assert.deepEqual(simple, {
                role: 'user',
                content: { type: 'text', text: 'This is a simple prompt for testing.' }
            });
            const [filled] = await get('test_prompt_with_arguments', { arg1: 'one', arg2: 'two' });
            assert.equal(filled.content.text, "Prompt with arguments: arg1='one', arg2='two'");
        },
        'gets prompts with a resource and with a picture': async () => {
            const resourceUri = 'test://static-text';
            const [resource, please] = await get('test_prompt_with_embedded_resource', { resourceUri });
            assert.deepEqual(resource.content.resource, {
                uri: resourceUri,
                mimeType: 'text/plain',
                text: 'Embedded resource content for testing.'
            });
            assert.equal(please.content.text, 'Please process the embedded resource above.');
            const [image, analyze] = await get('test_prompt_with_image');
            isPicture(image.content);
            assert.equal(analyze.content.text, 'Please analyze the image above.');
        },
        'completes arguments of prompts and templates': async () => {
            const prompt = { type: 'ref/prompt', name: 'test_prompt_with_arguments' };
            assert.deepEqual(await complete(prompt, 'arg1', 'par'), ['paris', 'park', 'party']);
            assert.deepEqual(await complete(prompt, 'arg1', 'park'), ['park']);
            assert.deepEqual(await complete(prompt, 'arg2', 'par'), []);
            const template = { type: 'ref/resource', uri: 'test://template/{id}/data' };
            assert.deepEqual(await complete(template, 'id', '1'), ['1', '12', '123']);
            assert.deepEqual(await complete(template, 'id', '12'), ['12', '123']);
        }
    };
}

function changes(tourist) {
    const touch = uri => tourist.call('tour_touch_resource', { uri });
    const hears = async method => {
        let told = [];
        await until(() => (told = tourist.told(method)).length > 0);
        return told;
    };
    return {
        'is told of the resource that it watches, and of no other': async () => {
            const stop = await tourist.watch(tourist.client, WATCHED);
            tourist.told();
            await touch('test://static-text');
            await touch(WATCHED);
            const [update, ...more] = await hears('notifications/resources/updated');
            assert.deepEqual([update.uri, more], [WATCHED, []]);
            await stop();
            await pause(SILENCE);
            tourist.told();
            await touch(WATCHED);
            await pause(SILENCE);
            assert.deepEqual(tourist.told('notifications/resources/updated'), []);
        },
        'is told when lists have changed': async () => {
            const stop = await tourist.followLists(tourist.client);
            await tourist.call('test_trigger_tool_change');
            await hears('notifications/tools/list_changed');
            await tourist.call('test_trigger_prompt_change');
            await hears('notifications/prompts/list_changed');
            await stop();
        }
    };
}

function crowds(tourist) {
    // On a pipe each client has a server of its own.
    const shared = {
        'is told of what another client changes': async () => {
            const other = await tourist.connect();
            const stop = await tourist.watch(other, WATCHED);
            await tourist.call('tour_touch_resource', { uri: WATCHED });
            const isTold = ({ method, params }) =>
                method === 'notifications/resources/updated' && params.uri === WATCHED;
            await until(() => other.told.some(isTold));
            await stop();
            await tourist.end(other);
        }
    };
    const each = {
        'twenty calls at once are answered each to its own': async () => {
            const sent = Array.from({ length: 20 }, (_, at) => `number ${at}`);
            const results = await Promise.all(sent.map(one => tourist.call('tour_echo', { text: one })));
            assert.deepEqual(results.map(text), sent);
        },
        'two clients are served at once': async () => {
            const other = await tourist.connect();
            const [ours, theirs] = await Promise.all([
                tourist.call('tour_echo', { text: 'ours' }),
                tourist.call.call({ ...tourist, client: other }, 'tour_echo', { text: 'theirs' })
            ]);
            assert.deepEqual([text(ours), text(theirs)], ['ours', 'theirs']);
            await tourist.end(other);
            assert.equal(text(await tourist.call('tour_echo', { text: 'still' })), 'still');
        },
        'connects again': async () => {
            await tourist.end(tourist.client);
            tourist.client = await tourist.connect();
            assert.equal(text(await tourist.call('tour_echo', { text: 'again' })), 'again');
        }
    };
    return { ...(tourist.isPipe ? {} : shared), ...each };
}

function isPicture({ type, mimeType, data }) {
    assert.deepEqual([type, mimeType], ['image', 'image/png']);
    assert.deepEqual(Buffer.from(data, 'base64').subarray(0, 8), PNG);
}
