/** What a run has come to, as one object: for people, for `--json`, and for whoever embeds the library. */
import type { CheckpointReader, Publication, Run, Tally } from '../checkpoint/checkpoint.js';
import type { OutputStore } from '../files/output-store.js';
import { weakEchoText } from '../results/declared-echo.js';
import type { Counts, Source } from '../types.js';
import { type Adoptable, findAdoptable, findLostFolios, type LostFolio } from './adoptable.js';
import { manifestPath, markerPath } from './paths.js';

export interface RunSummary {
  readonly run: string;
  readonly pipeline: string;
  readonly service: string;
  readonly state: Run['state'];
  /** Exit code of the publication, or null while there is none. */
  readonly exitCode: number | null;
  /** Answers came from a local service, so nothing here is real (law 11). */
  readonly rehearsal: boolean;
  /** Whether this process found the run begun, or done, by an earlier one. */
  readonly found: 'new' | 'continued' | 'done';
  /** Number of the publication, which increases within the pipeline; null while there is none. */
  readonly publication: number | null;
  /** Why this process has put the output of a done run in place again; null where it has not. */
  readonly publishedAgain: string | null;
  readonly counts: Counts;
  readonly chunks: { readonly all: number | null; readonly byState: Tally['chunks'] };
  readonly uploads: Tally['uploads'];
  /** Failed records that were asked for one by one. */
  readonly searches: Tally['searches'];
  /** Records that may have been paid for twice or in vain. */
  readonly ambiguousRecords: number;
  /** The first chunks whose folio, if there is one, can be adopted. */
  readonly adoptable: readonly Adoptable[];
  /** The first chunks, ten at most, whose folio the service no longer knows. */
  readonly lost: readonly LostFolio[];
  /** Records whose equal tuples had different results. */
  readonly indistinct: number;
  /** Says so where nothing but a person's `result.echo` joins the results; else null. */
  readonly joinedOnWord: string | null;
  readonly columns: readonly string[];
  readonly output: {
    readonly path: string;
    readonly bytes: number;
    readonly records: number;
    readonly sha256: string;
    /** Whether a file of that size stands there now, and is no other publication. */
    readonly inPlace: boolean;
    /** The other publication of the pipeline that stands there now. */
    readonly heldBy: { readonly publication: number; readonly run: string } | null;
  } | null;
  readonly manifest: string | null;
  readonly marker: string | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
}

const adoptableAtMost = 50;
const lostAtMost = 10;

export interface SummaryNotes {
  /** What this process has published of a run that a deadline has stopped. */
  readonly cutShort?: Publication;
  /** Why it has published a done run again. */
  readonly publishedAgain?: string | null;
}

/** The checkpoint, and the store where the output stands. */
export interface SummaryNeeds {
  readonly checkpoint: Pick<CheckpointReader, 'run' | 'tally' | 'chunksIn' | 'attempts' | 'publications'>;
  readonly output: Pick<OutputStore, 'identity'>;
}

/**
 * @param found how the process that asks has come upon the run.
 * @returns the output's figures as they were published, whatever the config says now.
 */
export async function summarizeRun(
  { checkpoint, output }: SummaryNeeds,
  id: string,
  found: RunSummary['found'],
  { cutShort, publishedAgain = null }: SummaryNotes = {},
): Promise<RunSummary> {
  const run = (await checkpoint.run(id))!;
  const tally = await checkpoint.tally(id);
  const mayAdopt = run.state !== 'superseded' && tally.uploads.ambiguous > 0;
  const published = (run.state === 'done' ? run.publication : cutShort) ?? null;
  return {
    run: id,
    pipeline: run.pipeline,
    service: run.service,
    state: run.state,
    exitCode: published?.exitCode ?? null,
    rehearsal: run.rehearsal,
    found,
    publication: published?.number ?? null,
    publishedAgain,
    counts: published?.counts ?? countsOf(run.source, tally),
    chunks: { all: run.chunks, byState: tally.chunks },
    uploads: tally.uploads,
    searches: tally.searches,
    ambiguousRecords: tally.ambiguousRecords,
    adoptable: mayAdopt ? await findAdoptable(checkpoint, id, adoptableAtMost) : [],
    lost:
      run.state === 'superseded' || tally.chunks.unprocessed === 0
        ? []
        : await findLostFolios(checkpoint, id, lostAtMost),
    indistinct: tally.counts.indistinct,
    joinedOnWord: run.join?.judged?.isOnWord ? weakEchoText(run.join) : null,
    columns: published?.resultColumns ?? run.columns ?? [],
    output: published && {
      path: published.output.path,
      bytes: published.bytes,
      records: published.records,
      sha256: published.sha256,
      ...(await findPlace({ checkpoint, output }, run.pipeline, published)),
    },
    manifest: published && manifestPath(published.output.path),
    marker: published && markerPath(published.output.path, run.rehearsal, published.exitCode),
    createdAt: run.createdAt,
    finishedAt: run.finishedAt,
  };
}

/** What stands in the output's place, by stamp and size: no file is read for a summary. */
async function findPlace(
  { checkpoint, output }: SummaryNeeds,
  pipeline: string,
  { number, bytes, output: { path } }: Publication,
): Promise<Pick<NonNullable<RunSummary['output']>, 'inPlace' | 'heldBy'>> {
  const there = await output.identity(path);
  const hasSize = there?.bytes === bytes;
  const newest = (await checkpoint.publications(pipeline)).find((file) => file.path === path);
  if (newest === undefined || newest.number === number) return { inPlace: hasSize, heldBy: null };
  // A file that was only touched has another stamp.
  const isTouched = !hasSize && there?.bytes === newest.bytes;
  const isNewest = isTouched || (newest.stamp !== null && newest.stamp === there?.stamp);
  if (!isNewest) return { inPlace: hasSize, heldBy: null };
  return { inPlace: false, heldBy: { publication: newest.number, run: newest.run } };
}

/** The counts of law 1: the source's from the check, the others from what is merged. */
export function countsOf(source: Pick<Source, 'records' | 'rejected'>, tally: Tally): Counts {
  const { successful, failed, unprocessed } = tally.counts;
  return { read: source.records, successful, failed, unprocessed, rejected: source.rejected };
}
