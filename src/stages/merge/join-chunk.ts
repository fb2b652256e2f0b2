/**
 * Joins one downloaded chunk: reads its parts from the disk and matches the results to its records. The join is proven
 * (rule "Join by key, and prove it", docs/architecture.md#join-by-key-and-prove-it). All chunks of a run use the same
 * join method.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ChunkRow, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import type { MatchExports } from '../../csv/kernel/match-kernel.js';
import type { TableMemory } from '../../csv/kernel/table-memory.js';
import { type AnswerSource, type Answers, answersFromJoin } from '../../results/answers.js';
import { type CompareEchoes, compareEchoes } from '../../results/compare-echoes.js';
import { weakEchoText } from '../../results/declared-echo.js';
import type { SentColumns } from '../../results/join-method.js';
import { joinResults } from '../../results/join-results.js';
import { joinWindows, type SentBlock, type StreamedRecords } from '../../results/join-windows.js';
import { type ColumnChange, checkAddedColumns } from '../../results/output-layout.js';
import { type PartTable, readPartTable } from '../../results/part-table.js';
import { indistinctError, isTooIndistinct } from '../../results/prove-join.js';
import type { RecordBlock } from '../../source/record-block.js';
import { freeMemory } from '../../streams/large-buffers.js';
import { readWhole } from '../../streams/read-pieces.js';
import type { JoinMethod, StoredPart } from '../../types.js';
import { isStreamed, readChunkBlock, releaseBlock, sentFields } from '../chunk/chunk-content.js';
import type { UploadOptions } from '../chunk/cut-chunks.js';
import { streamChunk } from '../chunk/stream-chunk.js';
import { withRepair } from '../download/repair-parts.js';
import type { JoinChunksNeeds } from './merge-needs.js';

/**
 * Joins a chunk.
 * @param records reads the records of the chunk, with the fields of `readChunkBlock`, or says how they are read.
 * @returns undefined when a damaged part must be fetched again and the folio is lost.
 * @throws UntrustedError when the proof fails, also with the parts fetched again.
 */
export type JoinChunk = (
  chunk: ChunkRow,
  records: () => Promise<ChunkRecords>,
) => Promise<Answers | undefined>;

export type ChunkRecords = RecordBlock | SentBlock | StreamedRecords;

export interface ChunkJoinerOptions {
  /** The columns that the service adds; without them any added column is accepted. */
  readonly columns?: readonly string[];
  /** Called for each part with other columns, under `result.onChange: add`. Without it they are accepted. */
  readonly onChange?: (chunk: ChunkRow, change: ColumnChange) => void;
  readonly compare?: CompareEchoes;
  /** See `joinByEcho`. */
  readonly tables?: TableMemory<MatchExports>;
  /** See `withRepair`. */
  readonly isFinal?: boolean;
}

/** All joiners of a run share the join method in `run.join`, which the first chunks decide. */
export function createChunkJoiner(run: JoinChunksNeeds, options: ChunkJoinerOptions = {}): JoinChunk {
  const { columns, compare = compareEchoes, tables, isFinal } = options;
  const sent = sentColumns(run.config.upload);
  const fields = sentFields(run);
  /** The same fields, with their indexes in a `SentBlock`. */
  const sentOnly = fields.map(({ column }, sourceField) => ({ column, sourceField }));
  const { echo: declared, onChange } = run.config.result;
  const terms = { sent, fields, declared, compare, tables };

  /** No await before the method is saved: another stage may be joining too. */
  const joinBlock = async (chunk: ChunkRow, tables: readonly PartTable[], block: RecordBlock | SentBlock) => {
    const before = run.join.method;
    const own = 'isSentOnly' in block ? { ...terms, fields: sentOnly } : terms;
    const { joined, method } = joinResults(tables, block, { ...own, method: before });
    if (method !== before) await saveMethod(run, method);
    // The answers of a round are checked in chunk-answers, together with the answers that they replace.
    if (before?.judged?.isProven && declared === null && chunk.round === 0) {
      await checkIndistinct(run, joined, chunk);
    }
    return { joined, method };
  };

  const joinStreamed = async (
    chunk: ChunkRow,
    tables: readonly PartTable[],
    records: StreamedRecords,
  ): ReturnType<typeof joinBlock> => {
    const { method } = run.join;
    const joined = method && (await joinWindows(tables, records, { ...terms, method }));
    if (joined) return { joined, method };
    const block = await records.sent();
    try {
      return await joinBlock(chunk, tables, block);
    } finally {
      releaseBlock(block);
    }
  };

  const joinParts = async (
    chunk: ChunkRow,
    parts: readonly StoredPart[],
    records: () => Promise<ChunkRecords>,
  ): Promise<Answers> => {
    const tables: PartTable[] = [];
    for (const part of parts) {
      tables.push(readPartTable(part, await readWhole(run.files.readPart(chunk.number, part))));
    }
    const given = await records();
    const { joined, method } = await ('windows' in given
      ? joinStreamed(chunk, tables, given)
      : joinBlock(chunk, tables, given));
    const { kinds } = method.judged!;
    for (const table of tables) {
      if (columns === undefined || table.reference.fileStatus === 'FAILED' || table.count === 0) continue;
      const change = checkAddedColumns(table, sent, kinds.SUCCESSFUL, columns, onChange);
      if (change !== undefined) options.onChange?.(chunk, change);
    }
    return answersFromJoin(joined, { folio: chunk.folio, answeredAt: chunk.submittedAt }, kinds.FAILED);
  };

  return (chunk, records) => withRepair(run, chunk, (parts) => joinParts(chunk, parts, records), isFinal);
}

/**
 * Joins a chunk only to look at its answers, and frees its memory.
 * @param look gets the answers, which are valid during the call.
 * @returns undefined when a damaged part must be fetched again and the folio is lost.
 * @throws UntrustedError as `JoinChunk` does.
 */
export async function lookAtJoined<T>(
  run: JoinChunksNeeds,
  chunk: ChunkRow,
  look: (answers: Answers) => T,
): Promise<T | undefined> {
  const blocks: RecordBlock[] = [];
  const answers = await createChunkJoiner(run)(chunk, async () => {
    if (isStreamed(run, chunk)) return streamChunk(run, chunk);
    const block = await readChunkBlock(run, chunk);
    blocks.push(block);
    return block;
  });
  const seen = answers && look(answers);
  for (const block of blocks) releaseBlock(block);
  if (answers !== undefined) releaseAnswers(answers);
  return seen;
}

/** Frees the memory of answers. @param isOwn whether no other answers need this table of theirs. */
export function releaseAnswers(
  { sources, source, result }: Answers,
  isOwn: (source: AnswerSource) => boolean = () => true,
): void {
  for (const one of sources) if (isOwn(one) && one.origin !== 'fixed') releaseBlock(one.table);
  for (const array of [source, result]) freeMemory(array);
}

async function saveMethod(run: JoinChunksNeeds, method: JoinMethod): Promise<void> {
  const before = run.join.method;
  run.join.method = method;
  for (const column of foldedOf(method).filter((name) => !foldedOf(before).includes(name))) {
    run.logger.warn(
      { run: run.id, column },
      `${column} comes back with other capitals, blanks or Unicode form than it was sent; it still counts as what was sent`,
    );
  }
  if (method.judged?.isOnWord && !before?.judged?.isOnWord) {
    run.logger.warn({ run: run.id }, weakEchoText(method));
  }
  await run.checkpoint.recordJoin(run.id, method);
}

function foldedOf(method: JoinMethod | null): readonly string[] {
  const kinds = Object.values(method?.judged?.kinds ?? {}).flatMap((some) => Object.entries(some));
  return [...new Set(kinds.filter(([, kind]) => kind === 'folded').map(([column]) => column))];
}

/**
 * Checks that not too many records have equal sent columns and different results. A small chunk may hold more such
 * records than others, so the records before it count too; not all of them need be recorded as merged yet.
 * @throws UntrustedError `RESULTS_INDISTINCT`.
 */
export async function checkIndistinct(
  run: Pick<JoinChunksNeeds, 'id' | 'checkpoint'>,
  joined: Pick<Answers, 'indistinct'>,
  { records, lastRecord }: ChunkRow,
): Promise<void> {
  const { size } = joined.indistinct;
  if (!isTooIndistinct(size, records)) return;
  const last = await run.checkpoint.lastStretch(run.id);
  const { counts } = await run.checkpoint.tally(run.id);
  // Once the chunk is merged, the counts hold its own records.
  const before = last !== undefined && last.lastRecord >= lastRecord ? 0 : counts.indistinct;
  if (isTooIndistinct(before + size, lastRecord)) throw indistinctError(joined, { count: records });
}

/** The names of the columns in an uploaded file, with the key's given separately. */
export function sentColumns(upload: UploadOptions): SentColumns {
  return { key: upload.keyColumn, columns: Object.keys(upload.columns) };
}

/** The names of all columns in an uploaded file, including the key's. */
export function uploadedColumns(upload: UploadOptions): ReadonlySet<string> {
  const { key, columns } = sentColumns(upload);
  return new Set(key === null ? columns : [...columns, key]);
}

/**
 * Whether the results of a run were joined with a different `result.echo` than the config has now. False if no chunk is
 * joined yet. Runs from before version 0.1.0 have no such key.
 */
export function isEchoChanged({ result }: Pick<Config, 'result'>, { join }: Pick<Run, 'join'>): boolean {
  return join !== null && !isDeepStrictEqual(join.judged?.declared ?? null, result.echo);
}
