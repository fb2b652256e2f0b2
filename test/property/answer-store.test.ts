/** The local answer store decides as a plain Map does, whatever its sizes of lanes and blocks. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLocalAnswerStore } from '../../src/reuse/local-answer-store.js';
import type { Choice } from '../../src/types.js';
import { withFolder } from '../helpers/folders/folders.js';
import { forTime } from '../helpers/properties/for-time.js';
import {
  type AnsweredFolio,
  type Chosen,
  chooseFor,
  csv,
  DAY,
  NOW,
  readChoice,
  TERMS,
  writeSegment,
} from '../helpers/reuse/nights.js';

const BUDGET = forTime(2_000, 2_000);

const value = fc.constantFrom('a', 'b', 'c', '', ' ', 'x,y', 'say "q"', 'two\nlines', 'ü', 'z'.repeat(70));
const sent = fc.tuple(value, value);
const answer = fc.oneof(
  { weight: 4, arbitrary: fc.record({ values: fc.tuple(value, value) }) },
  { weight: 1, arbitrary: fc.record({ reason: fc.constantFrom('bad', 'no, "none"', '', 'l\nm') }) },
);
const folio = fc.record({
  folio: fc.constantFrom('F1', 'F,2', null),
  // Far from the limits, which the hash shortens.
  age: fc.constantFrom(1, 50, 100),
  records: fc.array(fc.tuple(fc.integer({ min: 1, max: 2_000_000 }), sent, answer), { maxLength: 12 }),
});
const segment = fc.record({
  epoch: fc.constantFrom('e1', 'e1', 'e1', 'e0'),
  columns: fc.constantFrom(['code', 'title'], ['title', 'more'], ['code', 'title']),
  rehearsal: fc.boolean(),
  folios: fc.array(folio, { maxLength: 3 }),
});
const night = fc.record({
  segments: fc.array(segment, { maxLength: 4 }),
  asked: fc.array(sent, { maxLength: 150 }),
  duplicates: fc.constantFrom('send' as const, 'once' as const),
  delimiter: fc.constantFrom(',', ';'),
  blockEntries: fc.constantFrom(1, 2, 16_384),
  laneBits: fc.constantFrom(5, 6, 16),
  from: fc.nat(160),
});
type Night = typeof night extends fc.Arbitrary<infer T> ? T : never;

const isBlank = (values: readonly string[]) => values.every((one) => /^[ \t\r\n]*$/.test(one));
const line = (values: readonly string[]) => csv([values]).slice(0, -1);

interface Known {
  readonly segment: number;
  readonly row: (columns: readonly string[]) => string;
  readonly isFailed: boolean;
  readonly isTaken: boolean;
  /** Of the newest answer; 0 for one of another epoch, which is taken for that. */
  readonly age: number;
}

/** What a plain Map says. */
function expected({ segments, asked, duplicates }: Night): Chosen & { choice: Partial<Choice> } {
  const known = new Map<string, Known>();
  for (const [at, { folios, epoch, columns: own }] of segments.entries()) {
    const answers = folios.flatMap(({ records, ...from }) => records.map((record) => ({ ...from, record })));
    const failed = answers.filter(({ record: [, , given] }) => 'reason' in given);
    // Of equal records of a segment, a success decides.
    const inOrder = [...answers.filter((one) => !failed.includes(one)), ...failed];
    for (const { folio, age, record } of inOrder) {
      const [number, values, given] = record;
      const key = JSON.stringify(values);
      const before = known.get(key);
      if (isBlank(values) || before?.isTaken) continue;
      const isOfEpoch = epoch === TERMS.epoch;
      if (before !== undefined && (!isOfEpoch || age >= before.age)) continue;
      const isFailed = 'reason' in given;
      const limit = (isFailed ? TERMS.failedAge : TERMS.maxAge) / DAY;
      const isTaken = isOfEpoch && age < limit;
      if (before !== undefined && !isTaken) {
        known.set(key, { ...before, age });
        continue;
      }
      const lineage = JSON.stringify([`R${at}`, folio, 1, NOW - age * DAY, number]);
      const names: readonly string[] = own;
      const row = (columns: readonly string[]) => {
        const added = columns.map((column) => (isFailed ? '' : (given.values[names.indexOf(column)] ?? '')));
        const status = isFailed ? ['FAILED', 'SERVICE_FAILED', given.reason] : ['SUCCESSFUL', '', ''];
        return `${line([...status, ...added])} ${lineage}`;
      };
      known.set(key, { segment: at, row, isFailed, isTaken, age: isOfEpoch ? age : 0 });
    }
  }
  const used = new Set<number>();
  const successful = new Map<number, number>();
  const counts = { successful: 0, failed: 0 };
  for (const values of asked) {
    const found = known.get(JSON.stringify(values));
    if (!found?.isTaken) continue;
    used.add(found.segment);
    if (!found.isFailed) successful.set(found.segment, (successful.get(found.segment) ?? 0) + 1);
    counts[found.isFailed ? 'failed' : 'successful'] += 1;
  }
  const columns = [...new Set(segments.flatMap((one, at) => (successful.has(at) ? one.columns : [])))];
  // Segments with the same columns, in whatever order, count as one.
  const columnSets: { columns: readonly string[]; records: number }[] = [];
  for (const [at, one] of segments.entries()) {
    const records = successful.get(at) ?? 0;
    const key = JSON.stringify(one.columns.toSorted());
    const same = columnSets.find((set) => JSON.stringify(set.columns.toSorted()) === key);
    if (same !== undefined) same.records += records;
    else if (records > 0) columnSets.push({ columns: one.columns, records });
  }
  const all: Chosen = { sent: [], reused: new Map(), outdated: new Map(), byDouble: [], byFirst: [] };
  const firsts = new Map<string, number>();
  for (const [at, values] of asked.entries()) {
    const key = JSON.stringify(values);
    const found = known.get(key);
    if (found?.isTaken) {
      all.reused.set(at + 1, found.row(columns));
    } else if (duplicates === 'once' && !isBlank(values) && firsts.has(key)) {
      all.byDouble.push([firsts.get(key)!, at + 1]);
    } else {
      all.sent.push(at + 1);
      firsts.set(key, at + 1);
      if (found !== undefined) all.outdated.set(at + 1, found.row(columns));
    }
  }
  all.byFirst.push(...all.byDouble.toSorted(([a, b], [c, d]) => a - c || b - d));
  const choice = {
    segments: [...used].sort((a, b) => a - b).map((at) => `S${at}`),
    sent: all.sent.length,
    reused: counts,
    duplicates: all.byDouble.length,
    outdated: all.outdated.size,
    columns,
    columnSets: columnSets.filter(({ records }) => records > 0),
    epoch: TERMS.epoch,
    rehearsal: segments.some(({ rehearsal }, at) => rehearsal && used.has(at)),
  };
  return { ...all, choice };
}

it('decides as a Map does', async () => {
  await fc.assert(
    fc.asyncProperty(night, async (given) => {
      await withFolder(async (folder) => {
        const { blockEntries, laneBits } = given;
        const store = createLocalAnswerStore(folder, {
          block: { entries: blockEntries, valueInts: 64 },
          laneBits,
        });
        const segments = [];
        for (const [at, { folios, ...options }] of given.segments.entries()) {
          const plain: AnsweredFolio[] = folios.map(({ folio, age, records }) => ({
            folio,
            answeredAt: NOW - age * DAY,
            records: records.map(([number, sentValues, found]) => ({ number, sent: sentValues, ...found })),
          }));
          segments.push(await writeSegment(store, plain, { ...options, id: `S${at}`, run: `R${at}` }));
        }
        const { delimiter, duplicates, asked, from } = given;
        const choice = await chooseFor(store, asked, { segments, delimiter, duplicates });
        const { choice: wanted, ...lists } = expected(given);
        const { bytes, sha256, ...facts } = choice;
        const { now, ...terms } = TERMS;
        expect(facts).toEqual({ ...wanted, ...terms });
        expect(await readChoice(store, 'R9', choice)).toEqual(lists);
        const later = (found: Map<number, string>) =>
          new Map([...found].filter(([number]) => number >= from));
        expect(await readChoice(store, 'R9', choice, from)).toEqual({
          sent: lists.sent.filter((number) => number >= from),
          reused: later(lists.reused),
          outdated: later(lists.outdated),
          byDouble: lists.byDouble.filter(([, double]) => double >= from),
          byFirst: lists.byFirst.filter(([first]) => first >= from),
        });
        expect(await chooseFor(store, asked, { segments, delimiter, duplicates })).toEqual(choice);
        const planned = await chooseFor(store, asked, { segments, delimiter, duplicates, run: null });
        expect(planned).toEqual({ ...choice, bytes: 0, sha256: '' });
        expect(bytes > 0 && sha256.length).toBe(64);
      });
    }),
    BUDGET,
  );
});
