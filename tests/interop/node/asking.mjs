// What a server asks its client for: to fill in a form, to visit a page, the words of a
// model, its roots. Modern clients find the questions in the answer to a request, legacy
// ones are asked while they wait for it; which it was, the packages don't show.

import assert from 'node:assert/strict';

import { INTERNAL_ERROR, MISSING_CAPABILITY, text } from './tour.mjs';

/** What the clients say that they can be asked for. */
export const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

const ELICIT = 'elicitation/create';
const SAMPLE = 'sampling/createMessage';
const ROOTS = 'roots/list';

const CHOICES = ['option1', 'option2', 'option3'];
const TITLED = ['value1', 'value2', 'value3'];

/**
 * Lets a client answer with what a check has put into its `answers`, and keep what it was
 * asked in `asked`. `register` adds a handler for a method; to be called before it connects.
 */
export function answerable(client, capabilities, register) {
    Object.assign(client, { answers: {}, asked: [] });
    const methods = { elicitation: ELICIT, sampling: SAMPLE, roots: ROOTS };
    for (const capability of Object.keys(capabilities)) {
        const method = methods[capability];
        register(method, async ({ params }) => {
            client.asked.push({ method, params });
            return client.answers[method](params);
        });
    }
}

/** Lets the client of a tour answer so for as long as a call takes. Returns the result and what was asked. */
export async function answering(tourist, answers, call) {
    const { client } = tourist;
    Object.assign(client, { answers, asked: [] });
    const result = await call(tourist);
    return { result, asked: client.asked };
}

export const accepting = content => ({ [ELICIT]: () => ({ action: 'accept', content }) });

const refusing = action => ({ [ELICIT]: () => ({ action }) });
const saying = words => ({
    [SAMPLE]: () => ({ role: 'assistant', content: { type: 'text', text: words }, model: 'm', stopReason: 'endTurn' })
});
const rooted = uris => ({ [ROOTS]: () => ({ roots: uris.map(uri => ({ uri })) }) });

/** Gives one answer after the other. */
function inTurn(method, ...answers) {
    return { [method]: () => answers.shift() };
}

export function asking(tourist) {
    return { ...forms(tourist), ...models(tourist), ...several(tourist), ...declared(tourist) };
}

function forms(tourist) {
    const account = answers =>
        answering(tourist, answers, it => it.call('test_elicitation', { message: 'Who are you?' }));
    const response = result => JSON.parse(text(result).replace('User response: ', ''));
    const ada = { username: 'ada', email: 'ada@example.com' };
    const form = async (name, content) => {
        const { result, asked } = await answering(tourist, accepting(content), it => it.call(name));
        assert.equal(asked.length, 1);
        assert.deepEqual(completed(result), { action: 'accept', content });
        return asked[0].params.requestedSchema.properties;
    };
    return {
        'fills in a form': async () => {
            const { result, asked } = await account(accepting(ada));
            assert.deepEqual(response(result), { action: 'accept', content: ada });
            assert.equal(asked.length, 1);
            const { message, requestedSchema } = asked[0].params;
            assert.equal(message, 'Who are you?');
            assert.equal(requestedSchema.type, 'object');
            assert.deepEqual(Object.keys(requestedSchema.properties).sort(), ['email', 'username']);
            assert.deepEqual([...requestedSchema.required].sort(), ['email', 'username']);
        },
        'declines and dismisses a form': async () => {
            for (const action of ['decline', 'cancel']) {
                const { result } = await account(refusing(action));
                assert.equal(response(result).action, action);
            }
        },
        'is asked again when it leaves something out': async () => {
            const half = { action: 'accept', content: { username: 'ada' } };
            const { result, asked } = await account(inTurn(ELICIT, half, { action: 'accept', content: ada }));
            assert.equal(asked.length, 2);
            assert.deepEqual(response(result).content, ada);
        },
        'is shown what a form begins with': async () => {
            const content = { name: 'Ada', age: 36, score: 1.5, status: 'pending', verified: false };
            const fields = await form('test_elicitation_sep1034_defaults', content);
            const defaults = Object.entries(fields).map(([name, field]) => [name, field.default]);
            assert.deepEqual(Object.fromEntries(defaults), {
                name: 'John Doe',
                age: 30,
                score: 95.5,
                status: 'active',
                verified: true
            });
        },
        'is shown what it can choose from': async () => {
            const fields = await form('test_elicitation_sep1330_enums', {
                untitledSingle: 'option1',
                titledSingle: 'value2',
                legacyEnum: 'opt3',
                untitledMulti: ['option1', 'option3'],
                titledMulti: []
            });
            const values = choices => choices.map(choice => choice.const);
            assert.deepEqual(fields.untitledSingle.enum, CHOICES);
            assert.deepEqual(values(fields.titledSingle.oneOf), TITLED);
            assert.equal(fields.legacyEnum.enumNames.length, 3);
            assert.deepEqual(fields.untitledMulti.items.enum, CHOICES);
            assert.deepEqual(values(fields.titledMulti.items.anyOf), TITLED);
        },
        'visits a page, or does not': async () => {
            for (const action of ['accept', 'decline', 'cancel']) {
                const { result, asked } = await answering(tourist, refusing(action), it => it.call('tour_visit'));
                assert.equal(text(result), `Visit: ${action}`);
                assert.equal(asked.length, 1);
                const { mode, message, url, elicitationId } = asked[0].params;
                assert.deepEqual([mode, url], ['url', 'https://example.com/tour']);
                assert.equal(message, 'Please look at this page.');
                assert.equal(typeof elicitationId, tourist.isLegacy ? 'string' : 'undefined');
            }
        }
    };
}

function models(tourist) {
    return {
        'lets its model speak': async () => {
            const prompt = 'Say something.';
            const { result, asked } = await answering(tourist, saying('Something.'), it =>
                it.call('test_sampling', { prompt })
            );
            assert.equal(text(result), 'LLM response: Something.');
            assert.equal(asked.length, 1);
            const { messages, maxTokens } = asked[0].params;
            assert.equal(maxTokens, 100);
            assert.equal(messages.length, 1);
            const [{ role, content }] = messages;
            assert.equal(role, 'user');
            assert.deepEqual([content].flat(), [{ type: 'text', text: prompt }]);
        },
        'tells its roots': async () => {
            const { result } = await answering(tourist, rooted(['file:///a', 'file:///b']), it =>
                it.call('test_input_required_result_list_roots')
            );
            assert.equal(text(result), 'Roots: file:///a, file:///b');
        }
    };
}

function several(tourist) {
    const name = accepting({ name: 'Ada' });
    return {
        'is asked for several things at once': async () => {
            const answers = { ...name, ...saying('Good morning.'), ...rooted(['file:///a']) };
            const { result, asked } = await answering(tourist, answers, it =>
                it.call('test_input_required_result_multiple_inputs')
            );
            assert.deepEqual(asked.map(({ method }) => method).sort(), [ELICIT, ROOTS, SAMPLE]);
            assert.equal(text(result), 'Ada, in 1 roots: Good morning.');
        },
        'is asked for one thing after the other': async () => {
            const color = { action: 'accept', content: { color: 'green' } };
            const answers = inTurn(ELICIT, { action: 'accept', content: { name: 'Ada' } }, color);
            const { result, asked } = await answering(tourist, answers, it =>
                it.call('test_input_required_result_multi_round')
            );
            assert.equal(asked.length, 2);
            assert.equal(text(result), 'Ada likes green.');
        },
        'brings back what the server remembers': async () => {
            const { result } = await answering(tourist, accepting({ ok: true }), it =>
                it.call('test_input_required_result_request_state')
            );
            assert.equal(text(result), 'state-ok, confirmed: true');
        },
        'is told of progress before it is asked': async () => {
            const told = [];
            const options = { onprogress: at => void told.push(at) };
            const { result } = await answering(tourist, name, it =>
                it.call('test_streaming_elicitation', {}, options)
            );
            assert.equal(text(result), 'Hello, Ada!');
            // On a pipe these packages drop what arrives together with the question.
            const first = { progress: 1, total: 2, message: 'There is a question.' };
            if (!tourist.isPipe || tourist.isLegacy) assert.deepEqual(told[0], first);
        },
        'is asked for a prompt and for a resource': async () => {
            const context = accepting({ context: 'a rainy day' });
            const asPrompt = await answering(tourist, context, ({ client }) =>
                client.getPrompt({ name: 'test_input_required_result_prompt' })
            );
            const [message] = asPrompt.result.messages;
            assert.equal(message.content.text, 'Use this context: a rainy day');
            const uri = 'tour://welcome';
            const asResource = await answering(tourist, name, ({ client }) => client.readResource({ uri }));
            assert.equal(asResource.result.contents[0].text, 'Welcome, Ada!');
        }
    };
}

function declared(tourist) {
    /** Lets another client do something, that can be asked for other things. */
    const other = async (capabilities, body) => {
        const client = await tourist.connect(capabilities);
        await body({ ...tourist, client });
        await tourist.end(client);
    };
    return {
        'is not asked for what it does not declare': async () => {
            const refusal = tourist.isLegacy
                ? { code: INTERNAL_ERROR }
                : { code: MISSING_CAPABILITY, data: { requiredCapabilities: { sampling: {} } } };
            await other({}, async it => {
                await assert.rejects(it.call('test_missing_capability'), refusal);
                assert.equal(text(await it.call('tour_echo', { text: 'still' })), 'still');
            });
        },
        'is asked for what it declares': async () => {
            await other({ sampling: {} }, async it => {
                const { result, asked } = await answering(it, saying('Paris.'), it =>
                    it.call('test_input_required_result_capabilities')
                );
                assert.deepEqual(asked.map(({ method }) => method), [SAMPLE]);
                assert.equal(text(result), 'Paris.');
            });
        }
    };
}

/** What a form of the suite's tells of its answer. */
function completed(result) {
    const [, action, content] = text(result).match(/^Elicitation completed: action=(\w+), content=(.*)$/);
    return { action, content: JSON.parse(content) };
}
