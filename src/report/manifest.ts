/** `<output>.manifest.json`: what was read, bought and published, chunk by chunk; written as a stream. */
import type { Checkpoint, ChunkRow, Publication, Tally } from '../checkpoint/checkpoint.js';
import { waitingPathOf, writeLocalFile } from '../files/local-file.js';
import { weakEchoText } from '../results/declared-echo.js';
import { createOutputLayout, outputColumns } from '../results/output-layout.js';
import type { RunContext } from '../run-context.js';
import { manifestPath, markerPath } from './paths.js';

export type ManifestNeeds = Pick<RunContext, 'id' | 'config' | 'source' | 'output'> & {
  readonly checkpoint: Pick<Checkpoint, 'run' | 'tally' | 'nextChunk'>;
};

export async function writeManifest(run: ManifestNeeds, publication: Publication): Promise<void> {
  const { path, mode } = run.config.output;
  const name = manifestPath(path);
  const head = await manifestHead(run, publication);
  const waiting = waitingPathOf(name, run.id);
  await writeLocalFile(waiting, async (append) => {
    append(`${JSON.stringify(head, null, 2).slice(0, -2)},\n  "chunks": [`);
    let separator = '\n';
    for await (const chunk of settledChunks(run)) {
      append(`${separator}    ${JSON.stringify(manifestChunk(chunk))}`);
      separator = ',\n';
    }
    append('\n  ]\n}\n');
  });
  await run.output.put(waiting, name, mode);
}

/** The chunks whose records stand in the output with what became of them, in the source's order. */
async function* settledChunks({ id, checkpoint }: ManifestNeeds): AsyncGenerator<ChunkRow> {
  let chunk = await checkpoint.nextChunk(id, 0, 0);
  while (chunk !== undefined) {
    if (chunk.state === 'downloaded' || chunk.state === 'unprocessed' || chunk.state === 'refused')
      yield chunk;
    chunk = await checkpoint.nextChunk(id, 0, chunk.lastRecord);
  }
}

async function manifestHead(run: ManifestNeeds, publication: Publication) {
  const row = (await run.checkpoint.run(run.id))!;
  const tally = await run.checkpoint.tally(run.id);
  const { counts } = publication;
  const layout = createOutputLayout(run.source, run.config.output);
  return {
    manifestVersion: 1,
    publication: publication.number,
    status: row.rehearsal ? 'REHEARSAL' : publication.exitCode === 0 ? 'SUCCESS' : 'PARTIAL',
    exitCode: publication.exitCode,
    complete: counts.unprocessed === 0,
    run: run.id,
    pipeline: row.pipeline,
    label: row.label,
    service: row.service,
    createdAt: new Date(row.createdAt).toISOString(),
    source: run.source.files.map(({ path, bytes, records, sha256, dialect }) => ({
      path,
      bytes,
      records,
      sha256,
      dialect,
    })),
    counts,
    uploads: { ...tally.uploads, ...searchesOf(tally), ambiguousRecords: tally.ambiguousRecords },
    indistinct: tally.counts.indistinct,
    ...(row.join?.judged?.isOnWord && { joinedOnWord: weakEchoText(row.join) }),
    columns: outputColumns(layout, publication.resultColumns),
    output: {
      path: run.config.output.path,
      bytes: publication.bytes,
      records: publication.records,
      sha256: publication.sha256,
    },
  };
}

/** Paid requests for single records, where there were any. */
function searchesOf({ searches: { answered, ambiguous } }: Pick<Tally, 'searches'>) {
  return {
    ...(answered > 0 && { searches: answered }),
    ...(ambiguous > 0 && { ambiguousSearches: ambiguous }),
  };
}

function manifestChunk(chunk: ChunkRow) {
  const { number, firstRecord, lastRecord, records, folio, attempt, sha256, cause, refusal, merged } = chunk;
  return {
    chunk: number,
    firstRecord,
    lastRecord,
    records,
    folio,
    attempt,
    sha256,
    successful: merged?.successful ?? 0,
    failed: merged?.failed ?? 0,
    unprocessed: merged?.unprocessed ?? 0,
    cause,
    refusal,
  };
}

/** The small JSON file that tells a loader that an output is complete; written last of all. */
export async function writeMarker(
  run: Pick<RunContext, 'id' | 'config' | 'output'> & { readonly checkpoint: Pick<Checkpoint, 'run'> },
  publication: Publication,
): Promise<void> {
  const { path, mode } = run.config.output;
  const { rehearsal } = (await run.checkpoint.run(run.id))!;
  const marker = {
    run: run.id,
    pipeline: run.config.pipeline,
    publication: publication.number,
    rehearsal,
    exitCode: publication.exitCode,
    output: { bytes: publication.bytes, records: publication.records, sha256: publication.sha256 },
    manifest: manifestPath(path),
  };
  const name = markerPath(path, rehearsal, publication.exitCode);
  const waiting = waitingPathOf(name, run.id);
  await writeLocalFile(waiting, async (append) => append(`${JSON.stringify(marker)}\n`));
  await run.output.put(waiting, name, mode);
}
