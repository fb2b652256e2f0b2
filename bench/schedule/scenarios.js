/** The services that the schedule must suit, and how the client is set up for them. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * How long a folio takes, and the settings that suit it. Folios of 5 s need a shorter `first` than the default's
 * second, and 64 of them open more requests than the default's 10 a second; folios of hours need a longer `max`.
 */
const PACES = {
  '5 s': { processing: 5 * second, upload: second / 4, requestsPerSecond: 200, first: 0.15 * second },
  '1 min': { processing: minute, upload: second, requestsPerSecond: 10, first: second },
  '20 min': { processing: 20 * minute, upload: second, requestsPerSecond: 10, first: second },
  '4 h': { processing: 4 * hour, upload: second, requestsPerSecond: 10, first: second },
};

/** Each scenario must reach all goals, except those that `spared` names, for the reason in `why`. */
function scenario(name, pace, { folios = 16, chunks = 400, poll, requestsPerSecond, spared, why, ...model }) {
  const { processing, upload, first } = PACES[pace];
  return {
    name,
    pace,
    chunks,
    spared: spared ?? [],
    why,
    concurrency: { uploads: 4, folios, downloads: 4 },
    poll: { first, max: hour, timeout: 100 * 24 * hour, ...poll },
    requestsPerSecond: requestsPerSecond ?? PACES[pace].requestsPerSecond,
    model: {
      processing,
      upload,
      download: upload,
      reply: 0.05 * second,
      percentage: 'honest',
      records: 100,
      // The header counts whole seconds.
      retryAfter: Math.max(second, processing / 100),
      ...model,
    },
  };
}

function* scenariosOf(pace) {
  const { processing } = PACES[pace];
  for (const folios of [16, 64]) {
    for (const chunks of [40, 400, 4000]) yield scenario('steady', pace, { folios, chunks });
  }
  // Four work and twelve wait, so that a folio takes as long as the pace says.
  const queued = { servers: 4, processing: processing / 4 };
  const slowSwing = { swing: 0.5, period: 20 * processing };
  yield scenario('queue', pace, queued);
  yield scenario('speed swings slowly', pace, slowSwing);
  yield scenario('speed swings quickly', pace, { swing: 0.5, period: 2 * processing });
  yield scenario('cap of 12 open', pace, { openAtMost: 12, ...(pace === '5 s' && pausedTooLong) });
  yield scenario('throttled each 30 s', pace, { throttledEach: 30 * second, retryAfter: 2 * second });
  yield scenario('stragglers', pace, { stragglers: 20 });
  yield scenario('stragglers, queue', pace, { stragglers: 20, ...queued });
  yield scenario('whole percents', pace, { percentage: 'whole' });
  yield scenario('steps of 10 %', pace, { percentage: 'coarse' });
  for (const folios of [16, 64]) yield scenario('stuck at 0 %', pace, { percentage: 'stuck', folios });
  yield scenario('stuck, stragglers', pace, { percentage: 'stuck', stragglers: 20 });
  yield scenario('stuck, swings slowly', pace, { percentage: 'stuck', ...slowSwing });
  yield scenario('no percentage, queue', pace, { percentage: 'missing', ...queued });
}

const pausedTooLong = {
  spared: ['makespan', 'notice'],
  why: 'a refused upload pauses every request for Retry-After, 1 s at least: a fifth of the time of a folio',
};
const requestsShort = {
  folios: 64,
  chunks: 4000,
  requestsPerSecond: 10,
  spared: ['notice'],
  why: 'requests are the limit: a finished folio waits for its turn, and each is asked once',
};
/** The defaults of the config. */
const defaults = { poll: { first: second, max: 5 * minute }, requestsPerSecond: 10 };

export const scenarios = [
  ...Object.keys(PACES).flatMap((pace) => [...scenariosOf(pace)]),
  scenario('requests are short', '5 s', requestsShort),
  scenario('requests are short, stuck', '5 s', { ...requestsShort, percentage: 'stuck' }),
  scenario('default settings', '5 s', {
    ...defaults,
    spared: ['makespan', 'notice'],
    why: '16 folios of 5 s are 3.2 a second, and 10 requests a second are hardly enough for 3.3',
  }),
  scenario('default poll', '5 s', { poll: defaults.poll }),
  scenario('default poll, stuck', '5 s', {
    poll: defaults.poll,
    percentage: 'stuck',
    spared: ['makespan', 'notice'],
    why: 'two polls are never closer than poll.first, a fifth of the time of a folio',
  }),
  scenario('default settings', '1 min', defaults),
  scenario('default settings', '20 min', defaults),
  scenario('default settings', '4 h', {
    ...defaults,
    spared: ['polls'],
    why: 'poll.max of 5 min alone makes 48 polls in 4 h',
  }),
];
