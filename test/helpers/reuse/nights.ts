/** Segments and look-ups from plain values, for tests of answer stores. */
import { scanBuffer } from '../../../src/csv/scan-records.js';
import type { Batch } from '../../../src/csv/table.js';
import type { NumberedAnswers, ResultSource } from '../../../src/results/answers.js';
import { readPartTable } from '../../../src/results/part-table.js';
import { createRowWriter } from '../../../src/results/row-writer.js';
import { splitColumns } from '../../../src/results/split-columns.js';
import type {
  AnswerStore,
  DoublePairs,
  ReuseTerms,
  SegmentOptions,
} from '../../../src/reuse/answer-store.js';
import type { Segment } from '../../../src/types.js';

export const DAY = 24 * 60 * 60 * 1000;
export const NOW = 1000 * DAY;
export const TERMS: ReuseTerms = { now: NOW, maxAge: 90 * DAY, failedAge: 7 * DAY, epoch: 'e1' };
export const SENT_COLUMNS = ['name', 'city'];

/** An answered record: its sent values, and the values of the added columns, or the reason of its failure. */
export interface Answered {
  readonly number: number;
  readonly sent: readonly string[];
  readonly values?: readonly string[];
  readonly reason?: string;
}

/** What one folio answered. */
export interface AnsweredFolio {
  readonly folio: string | null;
  readonly answeredAt: number;
  readonly records: readonly Answered[];
  /** `sent` unless it is given. */
  readonly origin?: ResultSource['origin'];
}

export function segmentOptions(changes: Partial<SegmentOptions> = {}): SegmentOptions {
  const own = { id: 'R1-1', run: 'R1', service: 's', rehearsal: false, epoch: 'e1', keyColumn: 'key' };
  return { ...own, sentColumns: SENT_COLUMNS, columns: ['code', 'title'], ...changes };
}

/** Writes a segment, each folio as a chunk. */
export async function writeSegment(
  store: AnswerStore,
  folios: readonly AnsweredFolio[],
  changes: Partial<SegmentOptions> = {},
): Promise<Segment> {
  const options = segmentOptions(changes);
  const writer = await store.openSegment(options);
  try {
    for (const folio of folios) await addFolio(writer, options, folio);
    return await writer.finish();
  } finally {
    await writer.close();
  }
}

/** Adds the answers of a folio to a segment. */
export async function addFolio(
  writer: Awaited<ReturnType<AnswerStore['openSegment']>>,
  { columns, sentColumns }: SegmentOptions,
  { folio, answeredAt, records, origin = 'sent' }: AnsweredFolio,
): Promise<void> {
  const rows = readPartTable(
    { fileStatus: 'SUCCESSFUL', part: 1 },
    Buffer.from(csv([['key', ...sentColumns], ...records.map(({ number, sent }) => [`${number}`, ...sent])])),
  );
  const successful = records.filter(({ values }) => values !== undefined);
  const failed = records.filter(({ values }) => values === undefined);
  const sourceOf = (fileStatus: 'SUCCESSFUL' | 'FAILED', content: string[][]): ResultSource => ({
    table: readPartTable({ fileStatus, part: 1 }, Buffer.from(csv(content))),
    answered: [],
    run: null,
    folio,
    part: 1,
    answeredAt,
    records: null,
    origin,
  });
  const sources = [
    sourceOf('SUCCESSFUL', [
      ['key', ...columns],
      ...successful.map(({ number, values }) => [`${number}`, ...values!]),
    ]),
    sourceOf('FAILED', [['key', 'why'], ...failed.map(({ number, reason }) => [`${number}`, reason!])]),
  ];
  const source = Int32Array.from(records, ({ values }) => (values === undefined ? 1 : 0));
  const result = Int32Array.from(records, (one) =>
    one.values === undefined ? failed.indexOf(one) : successful.indexOf(one),
  );
  const numbers = Int32Array.from(records, ({ number }) => number);
  await writer.add(rows, numbers, { sources, source, result, indistinct: new Set() });
}

const BATCH = 1000;

/** The records of a source whose columns are account, name, city; the first record has number 1. */
export function* batchesOf(records: readonly (readonly string[])[], delimiter: string): Generator<Batch> {
  for (let from = 0; from < records.length; from += BATCH) {
    const some = records.slice(from, from + BATCH).map((sent, at) => [`A${from + at}`, ...sent]);
    yield* scanBuffer(Buffer.from(csv(some, delimiter)), {
      delimiter,
      fields: 1 + SENT_COLUMNS.length,
      maxRecordBytes: 1_000_000,
      file: 0,
      base: 0,
      firstRecord: from + 1,
      onBadRecord: (bad) => {
        throw new Error(bad.message);
      },
    });
  }
}

export interface LookupWishes {
  readonly segments: readonly Segment[];
  readonly terms?: Partial<ReuseTerms>;
  readonly withheld?: ReadonlySet<string>;
  readonly duplicates?: 'send' | 'once';
  readonly delimiter?: string;
  readonly skipsBlank?: boolean;
  readonly run?: string | null;
}

/** Looks up records, and gives the choice. */
export async function chooseFor(
  store: AnswerStore,
  records: readonly (readonly string[])[],
  {
    segments,
    withheld,
    terms,
    duplicates = 'send',
    delimiter = ',',
    skipsBlank = false,
    run = 'R9',
  }: LookupWishes,
) {
  const lookup = await store.openLookup({
    fields: [1, 2],
    delimiter: delimiter.charCodeAt(0),
    sentColumns: SENT_COLUMNS,
    segments,
    ...(withheld && { withheld }),
    duplicates,
    skipsBlank,
  });
  try {
    for (const batch of batchesOf(records, delimiter)) await lookup.add(batch);
    const wanted = { ...TERMS, ...terms };
    return run === null ? (await lookup.plan(wanted)).choice : await lookup.decide(wanted, run);
  } finally {
    await lookup.close();
  }
}

/** All that a choice holds, as plain values. */
export interface Chosen {
  readonly sent: number[];
  /** By record number: the row that the row writer writes, with lineage. */
  readonly reused: Map<number, string>;
  readonly outdated: Map<number, string>;
  readonly byDouble: [number, number][];
  readonly byFirst: [number, number][];
}

/** Reads a choice from a number on. */
export async function readChoice(
  store: AnswerStore,
  run: string,
  choice: Awaited<ReturnType<typeof chooseFor>>,
  from = 0,
): Promise<Chosen> {
  const chosen = await store.openChoice(run, choice);
  try {
    const sent: number[] = [];
    for await (const list of chosen.toSend(from - 1)) sent.push(...list);
    return {
      sent,
      reused: await rowsOf(chosen.reused(from, true), choice.columns),
      outdated: await rowsOf(chosen.outdated(from), choice.columns),
      byDouble: await pairsOf(chosen.byDouble(from)),
      byFirst: await pairsOf(chosen.byFirst(from)),
    };
  } finally {
    await chosen.close();
  }
}

async function rowsOf(
  pieces: AsyncIterable<NumberedAnswers>,
  columns: readonly string[],
): Promise<Map<number, string>> {
  const rows = new Map<number, string>();
  let last = -1;
  for await (const { numbers, answers } of pieces) {
    const layout = { sourceFields: [], delimiter: 44, sourceColumns: [], prefix: '', lineage: false };
    const writer = createRowWriter({
      run: 'R9',
      layout,
      columns,
      sentColumns: new Set(['key', 'name', 'city']),
    });
    for (let i = 0; i < numbers.length; i++) {
      if (numbers[i]! <= last) throw new Error(`record ${numbers[i]} comes after ${last}`);
      last = numbers[i]!;
      const none = new Int32Array(1);
      const one = { bytes: new Uint8Array(0), count: 1, fields: 1, starts: none, ends: none, numbers: none };
      const source = answers.sources[answers.source[i]!] as ResultSource;
      const result = answers.result.slice(i, i + 1);
      const answer = { sources: [source], source: none, result, indistinct: new Set<number>() };
      const { bytes } = writer.write(one, splitColumns(answer, columns));
      const { run, folio, part, answeredAt, records } = source;
      const lineage = [run, folio, part, answeredAt, records?.[result[0]!]];
      rows.set(last, `${bytes.toString().slice(1, -1)} ${JSON.stringify(lineage)}`);
    }
  }
  return rows;
}

async function pairsOf(pieces: AsyncIterable<DoublePairs>): Promise<[number, number][]> {
  const pairs: [number, number][] = [];
  for await (const { firsts, doubles } of pieces) {
    for (let i = 0; i < firsts.length; i++) pairs.push([firsts[i]!, doubles[i]!]);
  }
  return pairs;
}

export function csv(rows: readonly (readonly string[])[], delimiter = ','): string {
  const isSpecial = new RegExp(`["\\r\\n${delimiter}]`);
  const field = (value: string) => (isSpecial.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return rows.map((row) => `${row.map(field).join(delimiter)}\n`).join('');
}
