/**
 * Writes `<output>.delta.csv`, how the rows differ from those of the pipeline's last complete publication. It is computed
 * before "publishing" is committed, and put in place together with the output.
 */
import type { Checkpoint, CheckpointReader, Publication } from '../../checkpoint/checkpoint.js';
import { besidePath, publicationPlace } from '../../config/sections/output-names.js';
import type { DriftOptions } from '../../delta/answer-drift.js';
import { checkBase, computeDelta } from '../../delta/compute-delta.js';
import { baseLostError, type LastPublication } from '../../delta/delta-store.js';
import type { DriftList } from '../../delta/list-drift.js';
import { RowSet } from '../../delta/row-set.js';
import { contentOf, readContent } from '../../files/encoded-file.js';
import { hasContent } from '../../files/output-store.js';
import { writeLocalFile } from '../../files/work-file.js';
import { outputFormat } from '../../output-format.js';
import { columnsWithOrigin, createOutputLayout, outputColumns } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import { showText } from '../../text.js';
import type { PublishedDelta } from '../../types.js';
import { waitingBeside } from './beside-output.js';
import { writeList } from './drift-file.js';

type DeltaNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'chosen' | 'deltas' | 'output' | 'signal' | 'at' | 'logger'
> & {
  readonly checkpoint: Pick<Checkpoint, 'runs'>;
};

type BaseNeeds = Pick<RunContext, 'config' | 'deltas'> & {
  readonly checkpoint: Pick<CheckpointReader, 'runs'>;
};

/**
 * Computes the delta and writes it to the local disk, and with `output.drift` the list of its drift by key; `putBeside` puts
 * both in place later.
 * @param columns the columns that the service adds.
 * @returns undefined if the config wants none.
 * @throws ConfigError `DELTA_BASE_LOST`, `DELTA_BASE_DAMAGED`.
 */
export async function writeDelta(
  run: DeltaNeeds,
  work: { readonly path: string; readonly sha256: string; readonly columns: readonly string[] },
): Promise<PublishedDelta | undefined> {
  const { pipeline, source, output } = run.config;
  if (!output.delta || source.key === null) return undefined;
  const last = await lastPublication(run);
  const layout = createOutputLayout(run.source, output);
  const columns = columnsWithOrigin(layout, work.columns);
  const keyFields = source.key.map((column) => layout.sourceColumns.indexOf(column));
  const status = layout.sourceColumns.length;
  const answerFields = columns.flatMap(({ from }, at) => (at === status || from === 'service' ? [at] : []));
  const names = columns.map(({ name }) => name);
  const options = {
    store: run.deltas,
    pipeline,
    last,
    key: source.key,
    table: { path: work.path, columns: names, keyFields, answerFields },
    folder: run.config.stateDir,
    drift: await driftOptions(run, work.columns),
    sha256: work.sha256,
    changeColumn: changeColumn(names, output.prefix),
    signal: run.signal,
    onDigests: () => run.at('after-digests-before-delta'),
  };
  const compute = (driftList?: DriftList) =>
    writeLocalFile(waitingBeside(run, 'delta'), (append) => computeDelta({ ...options, driftList }, append));
  const delta =
    output.drift && last !== undefined
      ? await writeList(
          run,
          'keyDrift',
          source.key,
          (append) => compute({ openBase: () => openBase(run, last), append }),
          ({ drift }) => drift !== undefined,
        )
      : await compute();
  run.at('after-delta-before-publishing');
  return delta;
}

/** The CSV of the last publication. If it is missing or was changed, logs that and returns undefined. */
async function openBase(
  run: Pick<DeltaNeeds, 'id' | 'config' | 'output' | 'logger' | 'checkpoint'>,
  last: LastPublication,
): Promise<AsyncIterable<Uint8Array> | undefined> {
  const runs = await run.checkpoint.runs(run.config.pipeline);
  const published = runs.find(({ publication }) => publication?.number === last.publication);
  if (published?.publication == null) return undefined;
  const { output, number, content, ...stored } = published.publication;
  const path = publicationPlace(output.path, published.id, number);
  const format = outputFormat(output.path);
  const found = format === 'parquet' ? undefined : await run.output.identity(path);
  if (found !== undefined && (await hasContent(found, stored))) {
    return readContent(run.output, { path, format, content });
  }
  run.logger.warn(
    { run: run.id, publication: number, path },
    `publication ${number} is no longer at ${showText(path)} as it was written, or is a Parquet file: the column before is empty in ${showText(besidePath(output.path, 'key-drift.csv'))}`,
  );
  return undefined;
}

/** @returns undefined if records were rejected: a row's number is then not its record's number. */
async function driftOptions(
  { source, chosen }: Pick<RunContext, 'source' | 'chosen'>,
  columns: readonly string[],
): Promise<DriftOptions | undefined> {
  if (source.rejected > 0) return undefined;
  const all = ['status', ...columns];
  if (chosen === null) return { columns: all, sent: undefined };
  const sent = new RowSet(source.records);
  for await (const numbers of chosen.toSend(0)) for (const number of numbers) sent.add(number - 1);
  return { columns: all, sent };
}

/**
 * Checks before a run begins that its delta will have the base that the checkpoint knows of. Reads no rows.
 * @throws ConfigError `DELTA_BASE_LOST`, `DELTA_BASE_DAMAGED`.
 */
export async function checkDeltaBase(run: BaseNeeds): Promise<void> {
  const { pipeline, source, output } = run.config;
  if (!output.delta || source.key === null) return;
  const last = await lastPublication(run);
  await checkBase({ store: run.deltas, pipeline, last, key: source.key });
}

/**
 * Makes a complete publication the base of the next delta. Called before the run is `done`. A pipeline that never had a
 * delta keeps nothing.
 */
export async function recordBase(
  run: Pick<RunContext, 'source' | 'config' | 'deltas' | 'at'> & {
    readonly checkpoint: Pick<Checkpoint, 'runs'>;
  },
  publication: Publication,
): Promise<void> {
  const { partial, number, resultColumns, delta } = publication;
  // A sample does not become the base of the next delta.
  if (partial || run.source.limit !== undefined) return;
  const { pipeline, output } = run.config;
  if (delta === undefined && (await run.deltas.last(pipeline).catch(() => null)) === undefined) {
    if (!(await hadDelta(run))) return;
  }
  const columns = outputColumns(createOutputLayout(run.source, output), resultColumns);
  const { key = [], digests = null } = delta ?? {};
  const { sha256 } = contentOf(publication);
  await run.deltas.recordLast(pipeline, { publication: number, sha256, key, columns, digests });
  if (delta !== undefined) run.at('after-base-before-done');
}

/** @throws ConfigError when the store has lost the last publication that the checkpoint knows. */
async function lastPublication(run: BaseNeeds): Promise<LastPublication | undefined> {
  const { pipeline } = run.config;
  const last = await run.deltas.last(pipeline);
  if (last === undefined && (await hadDelta(run))) {
    throw baseLostError(pipeline, 'what the next delta needs of its last publication is missing');
  }
  const done = (await run.checkpoint.runs(pipeline)).filter(
    ({ state, source }) => state === 'done' && source.limit === undefined,
  );
  const newest = Math.max(0, ...done.map(({ publication }) => publication?.number ?? 0));
  if (last !== undefined && last.publication < newest) {
    const text = `publication ${last.publication} is kept for the next delta, but publication ${newest} came after it`;
    throw baseLostError(pipeline, text);
  }
  return last;
}

/** Whether a publication of the pipeline had a delta. */
async function hadDelta(run: Pick<BaseNeeds, 'config' | 'checkpoint'>): Promise<boolean> {
  const runs = await run.checkpoint.runs(run.config.pipeline);
  return runs.some(({ state, publication }) => state === 'done' && publication?.delta !== undefined);
}

/** A name that no column of the output has. */
function changeColumn(columns: readonly string[], prefix: string): string {
  let name = `${prefix}change`;
  while (columns.includes(name)) name = `${prefix}row_${name.slice(prefix.length)}`;
  return name;
}
