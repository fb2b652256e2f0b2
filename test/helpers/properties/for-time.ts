/**
 * How long a property test looks for a counterexample. In the whole suite that is a short time, because each commit
 * runs it; `npm run prove:properties` looks longer.
 */
const times = Number(process.env.PROPERTY_TIMES ?? 1);

/** Parameters of `fc.assert`: it ends after this many runs, or after this time, whichever comes first. */
export function forTime(ms: number, runs = 100) {
  return { numRuns: runs * times, interruptAfterTimeLimit: ms * times, markInterruptAsFailure: false };
}
