/**
 * How long a property test looks for a counterexample. In the whole suite that is a short time, because each commit
 * runs it; `npm run prove:properties` looks longer.
 */
const times = Number(process.env.PROPERTY_TIMES ?? 1);

/** Parameters of `fc.assert`: it ends after this many runs, or after this time, whichever comes first. */
export function forTime(ms: number, runs = 100) {
  return { numRuns: runs * times, interruptAfterTimeLimit: ms * times, markInterruptAsFailure: false };
}

/**
 * Parameters and check for runs that are slow on a busy machine: each run that has begun goes to its end, the first one
 * begins in any case, and those after this time do nothing.
 */
export function wholeRuns<T>(ms: number, runs: number, check: (value: T) => Promise<void>) {
  const until = performance.now() + ms * times;
  let begun = 0;
  return {
    parameters: { numRuns: runs * times },
    check: async (value: T): Promise<void> => {
      if (begun++ === 0 || performance.now() < until) await check(value);
    },
  };
}
