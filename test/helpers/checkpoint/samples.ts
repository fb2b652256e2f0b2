/** Small valid arguments for the checkpoint's methods. */
import type {
  Budget,
  ChunkRow,
  Confirmed,
  NewChunk,
  NewPublication,
  NewRun,
  NightFacts,
  RowCounts,
  Withheld,
} from '../../../src/checkpoint/checkpoint.js';
import { originsOf } from '../../../src/report/origins.js';
import { noRows } from '../../../src/results/row-counts.js';
import type { Choice, Segment, Source, StoredPart } from '../../../src/types.js';

export function sampleSource(stamp = 'stamp-1', sha256 = 'aa'): Source {
  const dialect = { encoding: 'utf8', bom: false, delimiter: ',', newline: 'LF', gzip: false } as const;
  const file = { path: 'data/a.csv', bytes: 900, stamp, sha256, records: 30, dialect, dataStart: 12 };
  return { files: [file], columns: ['name', 'größe'], records: 30, rejected: 1, sha256 };
}

export function sampleRun(id: string, changes: Partial<NewRun> = {}): NewRun {
  return {
    id,
    pipeline: 'nightly',
    service: 'https://service.test',
    label: null,
    source: sampleSource(),
    frozen: { 'chunks.maxRecords': '10' },
    canary: 0,
    choice: null,
    createdAt: 1_000,
    ...changes,
  };
}

/** The n-th ten records of the source; the offsets do not fit into 32 bits. */
export function sampleChunk(nth: number, changes: Partial<NewChunk> = {}): NewChunk {
  const offset = 5_000_000_000 + nth * 100;
  return {
    firstRecord: nth * 10 - 9,
    lastRecord: nth * 10,
    records: 10,
    start: { file: 0, offset },
    end: { file: 1, offset: offset + 99 },
    bytes: 120,
    sha256: `chunk-${nth}`,
    picked: null,
    ...changes,
  };
}

/** A chunk of one record, which may be recorded as refused. */
export function sampleSingle(nth: number, record = nth * 10 - 9): NewChunk {
  return sampleChunk(nth, { firstRecord: record, lastRecord: record, records: 1 });
}

/**
 * Some records, ascending, that are sent again in a round.
 * @param nth varies offsets and hash.
 */
export function samplePicked(nth: number, round: number, numbers: readonly number[]): NewChunk {
  const edges = { firstRecord: numbers[0] ?? 0, lastRecord: numbers.at(-1) ?? 0 };
  return sampleChunk(nth, { ...edges, records: numbers.length, picked: { round, numbers } });
}

/** Two halves of a chunk. */
export function sampleHalves({
  firstRecord,
  lastRecord,
  records,
}: Pick<NewChunk, 'firstRecord' | 'lastRecord' | 'records'>): [NewChunk, NewChunk] {
  const inFirst = Math.floor(records / 2);
  const middle = firstRecord + inFirst;
  return [
    sampleChunk(firstRecord, { firstRecord, lastRecord: middle - 1, records: inFirst }),
    sampleChunk(middle, { firstRecord: middle, lastRecord, records: records - inFirst }),
  ];
}

/** The row of a chunk that was cut and nothing else. */
export function newlyCut(number: number, { picked, ...chunk }: NewChunk): ChunkRow {
  return {
    ...chunk,
    number,
    state: 'cut',
    round: picked?.round ?? 0,
    attempt: 0,
    folio: null,
    submittedAt: null,
    counts: null,
    cause: null,
    refusal: null,
  };
}

/** The budget of a day with only the given caps. */
export function sampleBudget(caps: Partial<Budget> = {}): Budget {
  return { day: '2026-11-21', perRun: null, perDay: null, perMonth: null, ...caps };
}

export function samplePart(part: number, changes: Partial<StoredPart> = {}): StoredPart {
  return { fileStatus: 'SUCCESSFUL', part, bytes: 50, sha256: `part-${part}`, records: 8, ...changes };
}

/** A segment whose newest answer was paid for at this time. */
export function sampleSegment(id: string, run: string, newest: number): Segment {
  return {
    id,
    run,
    service: 'https://service.test',
    rehearsal: false,
    sentColumns: ['name'],
    columns: ['code'],
    epoch: '',
    successful: 9,
    failed: 1,
    bytes: 400,
    sha256: 'ee',
    oldest: newest,
    newest,
  };
}

/** Of the 29 records of a sample source. */
export const sampleChoice: Choice = {
  segments: ['r0-1'],
  epoch: '',
  maxAge: 8_000,
  failedAge: 4_000,
  sent: 9,
  reused: { successful: 16, failed: 1 },
  duplicates: 3,
  outdated: 2,
  columns: ['code'],
  columnSets: [{ columns: ['code'], records: 16 }],
  rehearsal: false,
  bytes: 500,
  sha256: 'dd',
};

export const samplePublication: NewPublication = {
  bytes: 4_000_000_000,
  sha256: 'ff',
  records: 30,
  exitCode: 0,
  partial: false,
  counts: { read: 30, successful: 30, failed: 0, unprocessed: 0, rejected: 0 },
  resultColumns: ['code'],
  output: { path: '/out/enriched.csv', columns: 'all', prefix: 'prediction_', lineage: false, mode: 0o640 },
};

export const sampleNight: NightFacts = {
  began: 1,
  ended: 2,
  rehearsal: false,
  counts: samplePublication.counts,
  origins: originsOf({ ...noRows, successful: 30 }),
  columns: ['code'],
  paid: 30,
  amount: 0.3,
  currency: 'USD',
  drift: { compared: 3, changed: 1 },
  reasons: [{ code: 'SERVICE_FAILED', reason: 'größe <b>', records: 2 }],
  predictions: null,
};

const noneEnded = { records: 0, successful: 0, failed: 0, unprocessed: 0 };

export const sampleWithheld: Withheld = {
  counts: { read: 30, successful: 20, failed: 9, unprocessed: 0, rejected: 1 },
  origins: {
    sent: { records: 29, successful: 20, failed: 9, unprocessed: 0 },
    reused: noneEnded,
    duplicates: noneEnded,
    skipped: noneEnded,
  },
  tolerate: 0.05,
};

export const sampleConfirmed: Confirmed = {
  counts: sampleWithheld.counts,
  origins: sampleWithheld.origins,
  exitCode: 0,
  resultColumns: ['code'],
};

export const allSuccessful: RowCounts = { ...noRows, successful: 10 };

export const allUnprocessed: RowCounts = { ...noRows, unprocessed: 10 };

export const nothingTallied = {
  cut: 0,
  uploading: 0,
  ambiguous: 0,
  submitted: 0,
  finished: 0,
  downloaded: 0,
  unprocessed: 0,
  refused: 0,
  split: 0,
};
