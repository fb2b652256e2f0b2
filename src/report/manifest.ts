/**
 * Writes the manifest of a publication, which lists what was read, bought and published, chunk by chunk, and its marker,
 * which says that the output is complete (docs/manifest.md).
 */
import type { Checkpoint, ChunkRow, Publication, RowCounts, Tally } from '../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered } from '../checkpoint/walk-run.js';
import { besidePath, dataPath } from '../config/sections/output-names.js';
import { contentOf } from '../files/encoded-file.js';
import { outputFormat } from '../output-format.js';
import { describeColumns } from '../results/column-types.js';
import { weakEchoText } from '../results/declared-echo.js';
import { createOutputLayout, outputColumns } from '../results/output-layout.js';
import { addCounts, noRows } from '../results/row-counts.js';
import { columnsMissing } from '../reuse/columns-missing.js';
import type { RunContext } from '../run-context.js';
import type { Choice } from '../types.js';
import { publishedOrigins, savedBy } from './origins.js';
import { markerPath, publicationStatus, putFile } from './publication-files.js';

type ManifestRun = Pick<RunContext, 'id' | 'config' | 'source' | 'output'> & {
  readonly checkpoint: Pick<Checkpoint, 'run' | 'tally' | 'nextChunk' | 'nextStretch'>;
};

/** Writes the manifest as a stream, so that memory does not grow with the number of chunks. */
export async function writeManifest(run: ManifestRun, publication: Publication): Promise<void> {
  const head = await manifestHead(run, publication);
  await putFile(run, besidePath(run.config.output.path, 'manifest.json'), async (append) => {
    append(`${JSON.stringify(head, null, 2).slice(0, -2)},\n  "chunks": [`);
    let separator = '\n';
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (!isAnswered(chunk)) continue;
      append(`${separator}    ${JSON.stringify(manifestChunk(chunk, await countsOfRows(run, chunk)))}`);
      separator = ',\n';
    }
    append('\n  ]\n}\n');
  });
}

/**
 * The counts of a chunk's rows, which include later answers. Undefined if they are not known, because the chunk's
 * stretches hold other records too.
 */
async function countsOfRows(
  run: ManifestRun,
  { firstRecord, lastRecord }: ChunkRow,
): Promise<RowCounts | undefined> {
  let counts = noRows;
  for (let after = firstRecord - 1; after < lastRecord; ) {
    const stretch = await run.checkpoint.nextStretch(run.id, after);
    const isNext = after >= firstRecord || stretch?.firstRecord === firstRecord;
    if (stretch === undefined || !isNext || stretch.lastRecord > lastRecord) return undefined;
    counts = addCounts(counts, stretch.counts);
    after = stretch.lastRecord;
  }
  return counts;
}

async function manifestHead(run: ManifestRun, publication: Publication) {
  const row = (await run.checkpoint.run(run.id))!;
  const tally = await run.checkpoint.tally(run.id);
  const { counts } = publication;
  const origins = publishedOrigins(publication);
  const layout = createOutputLayout(run.source, run.config.output);
  const missing = columnsMissing(row.choice, publication.resultColumns);
  return {
    manifestVersion: 1,
    publication: publication.number,
    status: publicationStatus(row, publication.exitCode),
    exitCode: publication.exitCode,
    complete: counts.unprocessed === 0,
    run: run.id,
    pipeline: row.pipeline,
    ...(row.source.limit !== undefined && { sample: { limit: row.source.limit } }),
    label: row.label,
    service: row.service,
    times: {
      began: new Date(row.createdAt).toISOString(),
      published: publication.at === undefined ? null : new Date(publication.at).toISOString(),
    },
    source: run.source.files.map(({ path, name, bytes, records, sha256, dialect }) => ({
      path: name ?? path,
      bytes,
      records,
      sha256,
      dialect,
    })),
    counts,
    origins,
    saved: savedBy(origins, run.config.budget),
    ...(row.choice !== null && { reuse: manifestReuse(row.choice) }),
    uploads: { ...tally.uploads, ...searchesOf(tally), ambiguousRecords: tally.ambiguousRecords },
    indistinct: tally.counts.indistinct,
    ...(row.join?.judged?.isOnWord && { joinedOnWord: weakEchoText(row.join) }),
    columns: outputColumns(layout, publication.resultColumns),
    schema: describeColumns(layout, publication.resultColumns, run.config.output.types),
    ...(Object.keys(missing).length > 0 && { columnsMissing: missing }),
    output: {
      path: dataPath(run.config.output.path),
      format: publication.content === undefined ? 'csv' : outputFormat(run.config.output.path),
      bytes: publication.bytes,
      records: publication.records,
      sha256: publication.sha256,
      content: contentOf(publication),
    },
    ...deltaOf(publication, run.config.output.path),
    ...(publication.drift && { drift: publication.drift }),
  };
}

/**
 * The keys for the delta; omitted without one. The name of the row digests is of no use to a reader.
 * @param place where the publication is.
 */
export function deltaOf({ delta }: Pick<Publication, 'delta'>, place: string) {
  if (delta === undefined) return {};
  const { base, digests: _, ...facts } = delta;
  return { base, delta: { path: besidePath(place, 'delta.csv'), ...facts } };
}

/** Where the reused answers come from, and how old they might be. */
function manifestReuse({ segments, epoch, maxAge, failedAge, outdated }: Choice) {
  return { segments, epoch, maxAge, failedAge, outdated };
}

/** The keys for paid searches of single records; omitted if there were none. */
function searchesOf({ searches: { answered, ambiguous } }: Pick<Tally, 'searches'>) {
  return {
    ...(answered > 0 && { searches: answered }),
    ...(ambiguous > 0 && { ambiguousSearches: ambiguous }),
  };
}

function manifestChunk(chunk: ChunkRow, rows: RowCounts | undefined) {
  const { number, firstRecord, lastRecord, records, folio, attempt, sha256, state, counts, cause, refusal } =
    chunk;
  const answered = rows && { ...rows, failed: rows.failed - rows.skipped };
  const own =
    state === 'unprocessed'
      ? { successful: 0, failed: 0, unprocessed: records }
      : { successful: counts!.successful, failed: counts!.failed, unprocessed: 0 };
  return {
    chunk: number,
    firstRecord,
    lastRecord,
    records,
    folio,
    attempt,
    sha256,
    successful: answered?.successful ?? own.successful,
    failed: answered?.failed ?? own.failed,
    unprocessed: answered?.unprocessed ?? own.unprocessed,
    cause,
    refusal,
  };
}

/** Writes the small JSON file that tells a loader that the output is complete. It is written last. */
export async function writeMarker(
  run: Pick<RunContext, 'id' | 'config' | 'output'> & { readonly checkpoint: Pick<Checkpoint, 'run'> },
  publication: Publication,
): Promise<void> {
  const { path } = run.config.output;
  const row = (await run.checkpoint.run(run.id))!;
  const { rehearsal, source } = row;
  const marker = {
    run: run.id,
    pipeline: run.config.pipeline,
    publication: publication.number,
    rehearsal,
    ...(source.limit !== undefined && { sample: { limit: source.limit } }),
    exitCode: publication.exitCode,
    output: { bytes: publication.bytes, records: publication.records, sha256: publication.sha256 },
    manifest: besidePath(path, 'manifest.json'),
  };
  const name = markerPath(path, row, publication.exitCode);
  await putFile(run, name, async (append) => append(`${JSON.stringify(marker)}\n`));
}
