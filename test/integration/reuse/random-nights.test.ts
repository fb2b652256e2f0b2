/**
 * Random nights, compared with a model: a map from sent fields to the answer that was bought last. Time passes, answers
 * differ from night to night, epochs change, runs are stopped and continued or replaced, old results are pruned.
 */
import { describe, expect, it } from 'vitest';
import { InterruptedError, prune } from '../../../pipelines/index.js';
import type { Failpoint } from '../../../src/failpoints.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import type { Answer, SentRecord } from '../../fake-service/parts.js';
import { scramble, shuffled } from '../../helpers/csv/generated-csv.js';
import type { Changes } from '../../helpers/jobs/fake-service-job.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';
import { DAY, expectBalance, type Line, line, type Nights, withNights } from '../../helpers/jobs/nights.js';
import { sentOf } from '../../helpers/jobs/sample-source.js';

const MAX_AGE = 90 * DAY;
const FAILED_AGE = 7 * DAY;

const stops: readonly Failpoint[] = [
  'after-choice-before-run',
  'after-run-before-chunk',
  'after-cut-before-intent',
  'after-accepted-before-poll',
  'after-part-before-downloaded',
  'after-merged-before-next',
];

interface Known {
  readonly answer: Answer;
  readonly at: number;
  readonly epoch: string;
}

/** What the service has answered, by sent fields, and what it answers today. */
function createModel(seed: number) {
  const known = new Map<string, Known>();
  const folios = new Map<string, Answer[]>();
  const today = { at: 0, night: 0, epoch: '' };
  const answerOf = ({ name = '', address = '' }: SentRecord): Answer => {
    const mixed = scramble(seed, Number(name.replace(/\D/g, '')) * 1000 + today.night);
    return mixed % 5 === 0
      ? { status: 'FAILED', added: { reason: `no, ${name} on night ${today.night}` } }
      : { status: 'SUCCESSFUL', added: { code: `${name}/${address}/${today.night}` } };
  };
  const behaviour: Behaviour = {
    receipt: (reply, { id, records }) => {
      folios.set(id, records.map(answerOf));
      for (const record of records) {
        if (record.name !== '') known.set(keyOf(record), { answer: answerOf(record), ...today });
      }
      return reply;
    },
    results: (results, { id }) => results.map((one, at) => ({ ...one, ...folios.get(id)![at]! })),
  };
  /** Whether the record's answer is taken; undefined in the time over which the end of `maxAge` is spread. */
  const isTaken = (record: SentRecord): boolean | undefined => {
    const found = known.get(keyOf(record));
    if (found === undefined || found.epoch !== today.epoch) return false;
    const age = today.at - found.at;
    if (found.answer.status === 'FAILED') return age < FAILED_AGE;
    if (age >= MAX_AGE) return false;
    return age < 0.8 * MAX_AGE ? true : undefined;
  };
  return { known, today, behaviour, isTaken };
}

function keyOf({ name, address, state }: SentRecord): string {
  return JSON.stringify([name, address, state]);
}

describe('random nights', () => {
  it.each([1, 2, 3, 4])('are those of a map, seed %i', async (seed) => {
    let rolled = 0;
    const random = (limit: number) => {
      rolled += 1;
      return scramble(seed, rolled) % limit;
    };
    const model = createModel(seed);
    const duplicates = random(2) === 0 ? 'once' : 'send';
    const config = {
      upload: { duplicates, skipBlank: seed % 2 === 0 },
      reuse: { maxAge: '90d', failedAge: '7d', maxMiss: '100%' },
      chunks: { maxRecords: 1 + random(9) },
      source: { onChange: 'supersede', maxRejected: '100%' },
    };
    await withNights({ behaviour: model.behaviour, config }, async (nights) => {
      for (let night = 1; night <= 8; night++) {
        const passed = [0, 1, 3, 8, 30, 60][random(6)]! * DAY;
        nights.pass(passed);
        model.today.at += passed;
        model.today.night = night;
        if (random(6) === 0) model.today.epoch = `e${night}`;
        const reuse = { epoch: model.today.epoch };
        if (random(3) === 0) {
          await nights.write(someLines(random, night));
          await stopSomewhere(nights, { reuse }, random);
          // The same records go on, or others replace them.
          if (random(2) === 0) await nights.again({ reuse });
        }
        await compareNight(nights, model, someLines(random, night), reuse, duplicates === 'once');
        if (random(3) === 0) await prune(nights.config({ retention: { results: '1d' } }), nights.options);
      }
    });
  });
});

/** Up to 40 records of a small world, with another note each night; some are equal. */
function someLines(random: (limit: number) => number, night: number): Line[] {
  const count = 1 + random(40);
  const lines = Array.from({ length: count }, () =>
    random(20) === 0
      ? line('', '', '', `night ${night}`)
      : line(`Shop ${random(40)}`, '1 Main St', 'MT', `night ${night} ${random(1_000_000)}`),
  );
  return shuffled(lines, night);
}

async function stopSomewhere(nights: Nights, changes: Changes, random: (limit: number) => number) {
  const options = stopAt(stops[random(stops.length)]!, 1 + random(2));
  const error = await nights.failure(changes, { ...nights.options, ...options });
  if (error !== undefined) expect(error).toBeInstanceOf(InterruptedError);
}

async function compareNight(
  nights: Nights,
  model: ReturnType<typeof createModel>,
  lines: readonly Line[],
  reuse: object,
  once: boolean,
): Promise<void> {
  await nights.write(lines);
  const before = new Map(model.known);
  const taken = new Map(lines.map((one) => [keyOf(sentOf(one.record)), model.isTaken(sentOf(one.record))]));
  // A run that was stopped is collected first: what it has bought counts.
  const summary = await nights.again({ reuse });
  const blanks = lines.filter(({ record }) => record.Business === '').length;
  const { skipBlank: skipsBlank } = nights.config().upload;
  expect(summary.origins.skipped.records).toBe(skipsBlank ? blanks : 0);
  if (skipsBlank) expect(summary.bought).not.toContain('');
  expectBalance(summary);
  const accepted = summary.bought.filter((name) => name !== '');
  const rows = await nights.rows();
  expect(rows).toHaveLength(lines.length);
  for (const [at, one] of lines.entries()) {
    const record = sentOf(one.record);
    if (record.name === '') {
      expect(rows[at]!.prediction_error_code === 'NOTHING_TO_SEND').toBe(skipsBlank);
      continue;
    }
    const key = keyOf(record);
    const isSent = accepted.includes(record.name!);
    const told = `night ${model.today.night}, record ${at + 1} ${record.name}`;
    const wasTaken = taken.get(key);
    if (wasTaken !== undefined) expect(isSent, `${told} is sent`).toBe(!wasTaken);
    const { answer } = (isSent ? model.known : before).get(key)!;
    expect(rows[at], told).toMatchObject({
      id: one.record.id,
      prediction_status: answer.status,
      prediction_error: answer.added.reason ?? '',
    });
    if (answer.status === 'SUCCESSFUL') expect(rows[at]!.prediction_code, told).toBe(answer.added.code);
  }
  const names = lines.map(({ record }) => record.Business!).filter((name) => accepted.includes(name));
  const expected = once ? [...new Set(names)] : names;
  expect(accepted).toEqual(expected.sort());
}
