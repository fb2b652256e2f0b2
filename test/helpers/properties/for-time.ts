/**
 * How long a property test looks for a counterexample, as a multiple of the time that it asks for. In the whole suite that
 * is half of it, because each commit runs it; `npm run prove:properties` looks longer.
 */
import fc, { type Plugin } from 'fast-check';

const times = Number(process.env.PROPERTY_TIMES ?? 0.5);

/**
 * Parameters of `fc.assert`: it ends after this many runs, or after this time, whichever comes first. The first run begins
 * in any case, and each run goes to its end: fast-check's own limit fails a test whose first run a busy machine slows down.
 */
export function forTime(ms: number, runs = 100) {
  const untilTime: Plugin<unknown> = () => {
    const until = performance.now() + ms * times;
    let begun = 0;
    return {
      decorateRun: (run) => (value) =>
        begun++ === 0 || performance.now() < until ? run(value) : new fc.PreconditionFailure(true),
    };
  };
  return { numRuns: Math.ceil(runs * times), plugins: [untilTime] };
}
