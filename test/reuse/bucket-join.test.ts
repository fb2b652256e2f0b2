import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ASKED_INTS, BucketJoin } from '../../src/reuse/bucket-join.js';
import { metaOf, valueInts } from '../../src/reuse/segment-format.js';

/** Few hashes, some of which choose the same slot. */
const hash = fc.tuple(...[0, 1, 2, 3].map(() => fc.constantFrom(0, 1, -1)));
const textOf = (one: readonly number[]) => one.join(' ');
const entry = fc.record({
  hash,
  paid: fc.integer({ min: 1, max: 2 ** 31 - 1 }),
  origin: fc.nat(2),
  bytes: fc.nat(40),
  isFailed: fc.boolean(),
});
type Entry = { readonly [Name in 'paid' | 'origin' | 'bytes']: number } & {
  readonly hash: readonly number[];
  readonly isFailed: boolean;
};

/** Ages of the origins: young, old, and of another epoch. */
const AGES = [10, 95, Number.POSITIVE_INFINITY];
const MAX_AGE = 100;
const FAILED_AGE = 50;
const SHAPE = { lanes: 8, laneBits: 4, laneInts: 16 };

/** A block as a segment holds it. */
function blockOf(entries: readonly Entry[]) {
  const metas = entries.map(({ bytes, isFailed }) => metaOf(bytes, isFailed));
  const values = entries.flatMap(({ paid }, at) => Array(valueInts(metas[at]!)).fill(paid));
  const differences = entries.map(({ paid }, at) => (paid - (entries[at - 1]?.paid ?? 0)) | 0);
  return {
    hashes: entries.flatMap((one) => [...one.hash]),
    ints: [...differences, ...entries.map(({ origin }) => origin), ...metas, ...values],
  };
}

describe('the join of a bucket', () => {
  it.each([true, false])('gives what a map gives; equal records all sent: %s', (sendsDoubles) => {
    const records = fc.array(hash, { minLength: 1, maxLength: 100 });
    const blocks = fc.array(fc.array(entry, { minLength: 1, maxLength: 20 }), { maxLength: 3 });
    fc.assert(
      fc.property(records, blocks, fc.boolean(), (asked, segment, mayTake) => {
        const join = new BucketJoin({ records: 100, entries: 20, ints: 20 * 16, origins: 4, lanes: SHAPE });
        const sinks = { taken: [] as number[][], others: [] as number[][] };
        const counts = { successful: 0, failed: 0, outdated: 0 };
        const drain = () => {
          for (const [list, sink] of [sinks.taken, sinks.others].entries()) {
            const { buffers, filled } = join.lists![list]!;
            for (const [lane, size] of filled.entries()) {
              const from = lane * SHAPE.laneInts;
              sink.push(...answersIn(buffers.subarray(from, from + size), lane));
              filled[lane] = 0;
            }
          }
        };
        join.asked.ints(asked.length * ASKED_INTS).set(asked.flatMap((one, at) => [...one, at]));
        join.load(asked.length);
        const { ages, indexes } = join.origins(AGES.length);
        ages.set(AGES);
        const limits = { ages, indexes, maxAge: MAX_AGE, failedAge: FAILED_AGE };
        for (const entries of segment) {
          const { hashes, ints } = blockOf(entries);
          join.hashes.ints(hashes.length).set(hashes);
          const matches = join.match(entries.length, mayTake);
          join.entries.ints(ints.length).set(ints);
          const found = join.take(
            matches,
            entries.length,
            limits,
            sendsDoubles,
            (origin) => origin + 7,
            ({ isTaken, number, index, paid, meta, values, from }) => {
              drain();
              const value = [...values.subarray(from, from + valueInts(meta))];
              sinks[isTaken ? 'taken' : 'others'].push([number, index, paid, meta, ...value]);
            },
          );
          for (const key of ['successful', 'failed', 'outdated'] as const) counts[key] += found[key];
        }
        drain();
        const expected = expectedOf(asked, segment.flat(), sendsDoubles, mayTake);
        expect(sorted(sinks.taken)).toEqual(sorted(expected.taken));
        expect(sorted(sinks.others)).toEqual(sorted(expected.others));
        expect(counts).toEqual(expected.counts);
        const texts = asked.map(textOf);
        expect([...join.firsts.subarray(0, asked.length)]).toEqual(texts.map((text) => texts.indexOf(text)));
        const reused = asked.flatMap((_, at) => (join.isReused(at) ? [at] : []));
        expect(reused).toEqual([...expected.reused].sort((one, other) => one - other));
        join.release();
      }),
    );
  });
});

it('loses no answer after a look-up of the same process whose answer could not be written', () => {
  const lanes = { lanes: 1, laneBits: 4, laneInts: 16 };
  /** Looks up one record. @returns the numbers that are written. */
  const lookUp = (bytes: number, write: () => void) => {
    const join = new BucketJoin({ records: 1, entries: 1, ints: 32, origins: 2, lanes });
    try {
      join.asked.ints(ASKED_INTS).set([1, 2, 3, 4, 5]);
      join.load(1);
      const { ages, indexes } = join.origins(1);
      const { hashes, ints } = blockOf([{ hash: [1, 2, 3, 4], paid: 7, origin: 0, bytes, isFailed: false }]);
      join.hashes.ints(hashes.length).set(hashes);
      const matches = join.match(1, true);
      join.entries.ints(ints.length).set(ints);
      const limits = { ages: ages.fill(0), indexes, maxAge: MAX_AGE, failedAge: FAILED_AGE };
      join.take(matches, 1, limits, false, () => 0, write);
      return [...join.lists![0].buffers.subarray(0, join.lists![0].filled[0])];
    } finally {
      join.release();
    }
  };
  const full = () => {
    throw new Error('the disk is full');
  };
  expect(() => lookUp(80, full)).toThrow('the disk is full');
  expect(lookUp(4, full)).toEqual([5, 0, 7, metaOf(4, false), 7]);
});

/** The answers of a lane, of which each record must be one. */
function answersIn(ints: Int32Array, lane: number): number[][] {
  const answers: number[][] = [];
  for (let at = 0; at < ints.length; ) {
    const end = at + 4 + valueInts(ints[at + 3]!);
    answers.push([...ints.subarray(at, end)]);
    expect(ints[at]! >> SHAPE.laneBits).toBe(lane);
    at = end;
  }
  return answers;
}

function sorted(answers: readonly (readonly number[])[]): string[] {
  return answers.map((answer) => answer.join(' ')).sort();
}

/** The same with a map. */
function expectedOf(
  asked: readonly (readonly number[])[],
  entries: readonly Entry[],
  sendsDoubles: boolean,
  mayTake: boolean,
) {
  const groups = new Map<string, number[]>();
  for (const [at, one] of asked.entries()) groups.set(textOf(one), [...(groups.get(textOf(one)) ?? []), at]);
  const found = { taken: [] as number[][], others: [] as number[][], reused: new Set<number>() };
  const counts = { successful: 0, failed: 0, outdated: 0 };
  /** The age of the newest answer that is not taken. */
  const passed = new Map<string, number>();
  for (const { hash: wanted, paid, origin, bytes, isFailed } of entries) {
    const key = textOf(wanted);
    const group = groups.get(key);
    if (group === undefined) continue;
    const age = AGES[origin]!;
    const spread = (wanted[2]! >>> 0) / 2 ** 32;
    const isTaken = age < (isFailed ? FAILED_AGE : MAX_AGE * (1 - spread / 5));
    const before = passed.get(key);
    if (before !== undefined && (!mayTake || age >= before)) continue;
    passed.set(key, age === Number.POSITIVE_INFINITY ? 0 : age);
    if (before !== undefined && !isTaken) continue;
    if (before !== undefined) counts.outdated -= sendsDoubles ? group.length : 1;
    const meta = metaOf(bytes, isFailed);
    const value = Array(valueInts(meta)).fill(paid);
    for (const record of isTaken || sendsDoubles ? group : group.slice(0, 1)) {
      found[isTaken ? 'taken' : 'others'].push([record, origin + 7, paid, meta, ...value]);
      counts[isTaken ? (isFailed ? 'failed' : 'successful') : 'outdated'] += 1;
    }
    if (!isTaken) continue;
    found.reused.add(group[0]!);
    groups.delete(key);
  }
  return { ...found, counts };
}
