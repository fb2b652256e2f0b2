/** Computes the delta of a complete output against the last publication of its pipeline. */
import { createHash, randomBytes } from 'node:crypto';
import { HASH_BYTES, ROW_ENTRY_INTS } from '../csv/kernel/digest-kernel.js';
import { ConfigError } from '../errors.js';
import type { PublishedDelta } from '../types.js';
import { createAnswerDrift, type DriftOptions } from './answer-drift.js';
import { allAdded, compareRows } from './compare-rows.js';
import { digestRows, type OutputTable, writeDeltaRows } from './delta-rows.js';
import { baseLostError, type DeltaStore, type LastPublication, type StoredDigests } from './delta-store.js';
import {
  createDigestWriter,
  DamagedDigestsError,
  type DigestReader,
  openDigestReader,
} from './digest-file.js';
import { type DriftList, listDrift } from './list-drift.js';
import { RowPlaces } from './row-places.js';
import { SortedPairs } from './sorted-pairs.js';

/** What a delta is compared with. */
interface BaseOptions {
  readonly store: DeltaStore;
  readonly pipeline: string;
  /** The last complete publication; undefined if there is none. */
  readonly last: LastPublication | undefined;
  /** The columns that name a record. */
  readonly key: readonly string[];
}

export interface DeltaOptions extends BaseOptions {
  readonly table: OutputTable;
  /** Where a temporary file may be written. */
  readonly folder: string;
  /** SHA-256 of the output, hex. */
  readonly sha256: string;
  /** The name of the delta's last column. */
  readonly changeColumn: string;
  /** What the drift by key needs; undefined: it is not measured. */
  readonly drift?: DriftOptions | undefined;
  /** Lists the drift; undefined: the differences are only counted. */
  readonly driftList?: DriftList | undefined;
  readonly signal: AbortSignal;
  /** Called when the digests of the output are durable. */
  readonly onDigests: () => void;
}

/**
 * Stores the digests of the output's rows, durably, and writes the delta. Computed again with the same `last`, the
 * delta has the same bytes.
 * @param append receives the delta, piece by piece.
 * @throws ConfigError `DELTA_BASE_LOST`, `DELTA_BASE_DAMAGED`; UntrustedError `OUTPUT_UNREADABLE`; the signal's reason.
 */
export async function computeDelta(
  options: DeltaOptions,
  append: (piece: Uint8Array) => void,
): Promise<PublishedDelta> {
  const { store, pipeline, last, key, table, folder, sha256, signal, changeColumn } = options;
  const reason = reasonOf(options);
  const isFromBase = last !== undefined && (reason === null || reason === 'columns');
  const entryInts = ROW_ENTRY_INTS + table.answerFields.length;
  const opened: StoredDigests[] = [];
  const places = new RowPlaces(table.path, folder);
  const closing: { close(): void }[] = [places];
  try {
    const base = isFromBase ? await openDigests(options, last.digests!, opened) : undefined;
    const digests = digestsName(sha256, key);
    await store.writeDigests(pipeline, digests, async (appendDigests) => {
      const secret = base?.secret ?? randomBytes(HASH_BYTES);
      const writer = createDigestWriter(secret, entryInts, appendDigests);
      await digestRows(table, secret, writer, places, signal);
    });
    options.onDigests();
    const output = await openDigests(options, digests, opened);
    // Digests of an earlier version have no hashes of answers.
    const hasAnswers = reason === null && base?.largest.ints === output.largest.ints;
    const drift =
      hasAnswers && options.drift ? openDrift(options, options.drift, base, output, places) : undefined;
    if (drift !== undefined) closing.push(drift);
    const changes =
      base === undefined
        ? allAdded(output.rows)
        : await compareRows(base, output, reason === 'columns', drift?.rows).catch((error) =>
            refuse(error, options),
          );
    const hash = createHash('sha256');
    let bytes = 0;
    const counts = await writeDeltaRows(table, changes, places, base, changeColumn, (piece) => {
      hash.update(piece);
      bytes += piece.length;
      append(piece);
    }).catch((error) => refuse(error, options));
    const named = isFromBase ? { publication: last.publication, sha256: last.sha256 } : null;
    const found = drift?.rows.result();
    await drift?.list();
    const delta = { base: named, reason, key, ...counts, bytes, sha256: hash.digest('hex'), digests };
    return found === undefined ? delta : { ...delta, drift: found };
  } finally {
    for (const one of closing) one.close();
    for (const stored of opened) await stored.close();
  }
}

/** Makes what measures the drift by key, and lists it if `driftList` is given. */
function openDrift(
  { table, folder, driftList }: DeltaOptions,
  options: DriftOptions,
  base: DigestReader,
  output: DigestReader,
  places: RowPlaces,
) {
  const pairs = driftList && new SortedPairs(base.rows, folder);
  return {
    rows: createAnswerDrift(options, output.secret, output.rows, (old, row, bits) =>
      pairs?.add(old, row, bits),
    ),
    list: async () => pairs && listDrift(driftList, pairs, table, options.columns, places),
    close: () => pairs?.close(),
  };
}

/**
 * Checks that the row digests of the base are there and whole, as far as their footer and directory show.
 * @throws ConfigError `DELTA_BASE_LOST`, `DELTA_BASE_DAMAGED`.
 */
export async function checkBase(base: BaseOptions): Promise<void> {
  const { last, key } = base;
  if (last === undefined || last.digests === null || JSON.stringify(last.key) !== JSON.stringify(key)) return;
  const opened: StoredDigests[] = [];
  try {
    await openDigests(base, last.digests, opened);
  } finally {
    for (const stored of opened) await stored.close();
  }
}

/** Why there is no base, or why all rows count as changed; null if neither. */
function reasonOf({ last, key, table }: DeltaOptions): PublishedDelta['reason'] {
  if (last === undefined) return 'first';
  if (last.digests === null) return 'no-delta-before';
  if (JSON.stringify(last.key) !== JSON.stringify(key)) return 'key';
  return JSON.stringify(last.columns) === JSON.stringify(table.columns) ? null : 'columns';
}

/** The same rows with the same key have the same name, so an interrupted publication replaces only its own digests. */
function digestsName(sha256: string, key: readonly string[]): string {
  const name = createHash('sha256').update(JSON.stringify([sha256, key]));
  return `${name.digest('hex').slice(0, 32)}.rows`;
}

async function openDigests(
  options: BaseOptions,
  name: string,
  opened: StoredDigests[],
): Promise<DigestReader> {
  const { store, pipeline, last } = options;
  const stored = await store.openDigests(pipeline, name);
  if (stored === undefined) {
    throw baseLostError(pipeline, `the row digests of publication ${last?.publication} are missing`);
  }
  opened.push(stored);
  return openDigestReader(stored).catch((error) => refuse(error, options));
}

function refuse(error: unknown, { pipeline, last }: BaseOptions): never {
  if (!(error instanceof DamagedDigestsError)) throw error;
  const what = `the row digests of publication ${last?.publication} are damaged: ${error.message}`;
  throw new ConfigError('DELTA_BASE_DAMAGED', `pipeline ${pipeline}: ${what}`, {
    facts: { pipeline, publication: last?.publication ?? null },
    cause: error,
  });
}
