/** Random faults of the local service from which a client recovers without losing anything. */

const GET = ['track', 'download'];

/** At most three of these rules are used together: each hits so few calls that together they cannot hit every one. */
const FAULTS = [
  () => ({ on: 'download', fault: { records: { shuffled: true } } }),
  (random) => ({
    on: random.pick(['any', 'upload', ...GET]),
    calls: { every: random.between(4, 9) },
    fault: { status: random.pick([429, 503]) },
  }),
  (random) => ({
    on: random.pick(GET),
    calls: { from: random.between(1, 2), every: random.between(4, 9) },
    fault: { cut: random.pick(['before-reply', 'in-reply']) },
  }),
  (random) => ({ on: random.pick(GET), probability: '30%', fault: { truncate: '50%' } }),
  (random) => ({ on: random.pick(GET), probability: '20%', fault: { html: true } }),
  () => ({ on: 'download', folioCalls: 1, fault: { brokenBase64: true } }),
  () => ({ on: 'track', folioCalls: { to: 2 }, fault: { unknownStatus: 'QUEUED' } }),
  () => ({ on: 'track', probability: '50%', fault: { percentage: 'back' } }),
  (random) => ({ on: 'any', probability: '10%', fault: { stall: `${random.between(1, 20)}ms` } }),
];

/** Uploads of which the client cannot know whether they were accepted: they are sent again, and may cost twice. */
const AMBIGUOUS = ['before-reply', 'after-accepting', 'in-reply'];

/** @returns what `parseFaults` takes, or undefined for a service without faults. */
export function randomFaults(random) {
  const rules = random.once(2) ? [] : random.some(1, 3, () => random.pick(FAULTS)(random));
  if (random.once(10)) {
    rules.push({ on: 'upload', calls: random.between(1, 3), fault: { cut: random.pick(AMBIGUOUS) } });
  }
  return rules.length === 0 ? undefined : { seed: random.below(1000), rules };
}
