// What a tour is made of, whichever package its client comes from.

import assert from 'node:assert/strict';

export const INTERNAL_ERROR = -32603;
export const INVALID_PARAMS = -32602;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const MISSING_CAPABILITY = -32021;
export const RESOURCE_NOT_FOUND = -32002;

/** What `protocol_error_job` of the server for conformance breaks with. */
export const BROKEN = -32000;

export const VERSIONS = { modern: '2026-07-28', legacy: '2025-11-25' };

/** How long a check may take, in milliseconds. */
const PATIENCE = 15_000;

/**
 * Runs the checks in order, prints a line for each, and exits with what came of it.
 * When the first fails, which connects, the others count as failed without being run.
 */
export async function tour(label, checks) {
    let passed = 0;
    let failed = 0;
    let isConnected = false;
    for (const [name, body] of Object.entries(checks)) {
        try {
            assert.ok(isConnected || name === 'connects', 'not run for want of a connection');
            await Promise.race([body(), late()]);
            isConnected = true;
            passed += 1;
            console.log(`ok    ${label}: ${name}`);
        } catch (problem) {
            failed += 1;
            console.log(`FAIL  ${label}: ${name}: ${problem?.stack ?? problem}`);
        }
    }
    console.log(`${passed} passed, ${failed} failed`);
    process.exit(failed === 0 ? 0 : 1);
}

async function late() {
    await pause(PATIENCE);
    throw new Error(`not done within ${PATIENCE / 1000} s`);
}

export function pause(ms) {
    return new Promise(resolve => setTimeout(resolve, ms));
}

/** Asks again and again until the answer is yes, as long as a check may take. */
export async function until(condition) {
    const end = Date.now() + PATIENCE;
    while (!(await condition())) {
        assert.ok(Date.now() < end, `never so: ${condition}`);
        await pause(20);
    }
}

/** The text of a result that is one text. */
export function text(result) {
    assert.equal(result.content.length, 1, JSON.stringify(result));
    assert.equal(result.content[0].type, 'text', JSON.stringify(result));
    return result.content[0].text;
}

/**
 * What a client has been told that was no answer, in order. To be called before it
 * connects. Progress is told to the call that asked for it instead.
 */
export function listen(client) {
    const told = [];
    client.fallbackNotificationHandler = async ({ method, params }) => void told.push({ method, params });
    return told;
}

/** The target of a tour: a URL, or the command line of a server that speaks on its pipe. */
export function target([first, ...rest]) {
    return first.startsWith('http') ? { url: new URL(first) } : { command: first, args: rest };
}
