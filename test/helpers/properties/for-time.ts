/**
 * How long a property test looks for a counterexample. In the whole suite that is a short time, because each commit
 * runs it; `npm run prove:properties` looks longer.
 */
import fc, { type Plugin } from 'fast-check';

const times = Number(process.env.PROPERTY_TIMES ?? 1);

/**
 * Parameters of `fc.assert`: it ends after this many runs, or after this time, whichever comes first. Each run goes to its
 * end, and one that `fc.pre` does not skip is done in any case: fast-check's own limit fails a test whose first run a busy
 * machine slows down.
 */
export function forTime(ms: number, runs = 100) {
  const untilTime: Plugin<unknown> = () => {
    const until = performance.now() + ms * times;
    let done = 0;
    const count = <T>(ended: T): T => {
      if (!(ended instanceof fc.PreconditionFailure)) done += 1;
      return ended;
    };
    return {
      decorateRun: (run) => (value) => {
        if (done > 0 && performance.now() >= until) return new fc.PreconditionFailure(true);
        const running = run(value);
        return running instanceof Promise ? running.then(count) : count(running);
      },
    };
  };
  return { numRuns: runs * times, plugins: [untilTime] };
}
