// Tools that can be tasks, for a client that knows none: they are calls like any other.

import assert from 'node:assert/strict';

import { accepting, answering } from './asking.mjs';
import { text } from './tour.mjs';

export function jobs(tourist) {
    return {
        'a job is a call for whoever knows no tasks': async () => {
            const result = await tourist.call('slow_compute', { seconds: 0.05, label: 'sums' });
            assert.equal(text(result), 'Computed sums in 0.05 s.');
        },
        'a job asks on the way': async () => {
            for (const confirm of [true, false]) {
                const { result } = await answering(tourist, accepting({ confirm }), it =>
                    it.call('confirm_delete', { filename: 'a.txt' })
                );
                assert.equal(text(result), `${confirm ? 'Deleted' : 'Kept'} a.txt.`);
            }
        },
        'a job that has to be a task is refused': async () => {
            await assert.rejects(tourist.call('failing_job'), { code: tourist.needsTask });
        }
    };
}
