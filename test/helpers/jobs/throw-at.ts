/** Ends a run at a failpoint with an error of the program itself. */
import type { AtFailpoint, Failpoint } from '../../../pipelines/index.js';

/** Throws when the failpoint is passed for the `nth` time, and each time after that. */
export function throwAt(point: Failpoint, nth = 1): AtFailpoint {
  let passed = 0;
  return (here) => {
    if (here !== point) return;
    passed += 1;
    if (passed >= nth) throw new Error('killed');
  };
}
