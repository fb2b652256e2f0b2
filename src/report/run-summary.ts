/** The summary of a run as one object, for the command line, for `--json` and for programs that embed the library. */
import type { CheckpointReader, Night, Publication, Run, Tally } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import { besidePath, dataPath, publicationPlace } from '../config/sections/output-names.js';
import { type FailureReason, withoutReason } from '../failure-reasons.js';
import type { OutputStore } from '../files/output-store.js';
import type { LoadReport } from '../load/load-target.js';
import { weakEchoText } from '../results/declared-echo.js';
import { columnsMissing } from '../reuse/columns-missing.js';
import type { Counts, Drift, Origins, PublishedDelta } from '../types.js';
import { type Adoptable, type FolioGivenUp, findAdoptable, findFoliosGivenUp } from './adoptable.js';
import { type CostFigures, costFigures } from './cost-figures.js';
import { withheldExitCode } from './exit-code.js';
import { deltaOf } from './manifest.js';
import type { ProcessFigures, RunMeasure } from './measure-run.js';
import { countsOf, openOrigins, publishedOrigins, type Saved, savedBy } from './origins.js';
import {
  findOutput,
  type OutputThere,
  type PartialOutput,
  partialOutput,
  type WithheldOutput,
  withheldFacts,
} from './output-there.js';
import { markerPath } from './publication-files.js';
import { findUnusual, nightsBefore, type Unusual } from './unusual.js';

/** What a run has done and what it has cost, as `--json` prints it. */
export interface RunSummary extends CostFigures {
  readonly run: string;
  readonly pipeline: string;
  readonly service: string;
  readonly state: Run['state'];
  /**
   * Exit code of the publication, or of what was confirmed; 9 if the output is withheld; null while the run is not
   * complete.
   */
  readonly exitCode: number | null;
  /** Whether answers came from a local service (rule "A rehearsal never looks real"). */
  readonly rehearsal: boolean;
  /** The limit of a sample (`--limit`), in records; null if the run has the whole source. */
  readonly sample: number | null;
  /** Whether this process began the run, continued it, or found it done. */
  readonly found: 'new' | 'continued' | 'done';
  /** When the results of the run were removed (`retention.results`), in epoch milliseconds; null if they are kept. */
  readonly prunedAt: number | null;
  /** Whether there is a publication of the run. */
  readonly published: boolean;
  /** Whether the rows went to a sink of the embedding program, which has confirmed them, and nothing is published. */
  readonly confirmed: boolean;
  /** Number of the publication, which increases within the pipeline; null while there is none. */
  readonly publication: number | null;
  /** Why this process has published a done run again; null if it has not. */
  readonly publishedAgain: string | null;
  /** Why this process has published a run that was withheld; null if it has not. */
  readonly released: string | null;
  /** Why the output is not published (`failures.onExceeded`); null in every other state. */
  readonly withheld: WithheldOutput | null;
  readonly counts: Counts;
  /**
   * The partial publication that a deadline has put in place; null if there is none, and once the run is complete.
   */
  readonly partial: PartialOutput | null;
  /** Why records have no prediction, the commonest reasons first, at most 20 of them. The texts come from the service. */
  readonly failedBy: readonly FailureReason[];
  /**
   * Records without a prediction that `failedBy` does not count: an older version wrote their rows, and kept no reason.
   */
  readonly failedWithoutReason: number;
  /** The records by the origin of their answers. In a run that is not published, some of them have not ended yet. */
  readonly origins: Origins;
  /** What was not paid for, because the answer was known. */
  readonly saved: Saved;
  /** Records that are sent although an older answer is known; null if the run has not looked up earlier answers. */
  readonly outdated: number | null;
  readonly chunks: { readonly all: number | null; readonly byState: Tally['chunks'] };
  readonly uploads: Tally['uploads'];
  /** Single-record searches for failed records. */
  readonly searches: Tally['searches'];
  /** Records that may have been paid for twice, or for nothing. */
  readonly ambiguousRecords: number;
  /** The first chunks for which a folio can be adopted. */
  readonly adoptable: readonly Adoptable[];
  /** The first chunks, at most ten, whose folio the service no longer knows. */
  readonly lost: readonly FolioGivenUp[];
  /** The first chunks, at most ten, whose folio a person has given up. */
  readonly abandoned: readonly FolioGivenUp[];
  /** Records with equal tuples and different results. */
  readonly indistinct: number;
  /** A warning if only the declared `result.echo` supports the join; else null. */
  readonly joinedOnWord: string | null;
  readonly columns: readonly string[];
  /** Columns that reused answers lack, because the service has added them since; and how many records lack each. */
  readonly columnsMissing: Readonly<Record<string, number>>;
  readonly output:
    | (OutputThere & {
        readonly path: string;
        /** The folder with its parts, if the path is that of a folder. */
        readonly data?: string;
        readonly bytes: number;
        readonly records: number;
        readonly sha256: string;
      })
    | null;
  /** How answers that were bought again differ from the earlier ones; left out if there are none. */
  readonly drift?: Drift;
  /** What is unlike the nights before (docs/report.md); empty while too few of them are known. */
  readonly unusual: readonly Unusual[];
  /** How its rows differ from the base, the publication before; both are left out without a delta. */
  readonly base?: PublishedDelta['base'];
  readonly delta?: Omit<PublishedDelta, 'base' | 'digests'> & { readonly path: string };
  /** The state of its load; left out if there is nothing to load, and in a process that has not reached the load. */
  readonly load?: LoadReport;
  readonly manifest: string | null;
  readonly marker: string | null;
  readonly createdAt: number;
  readonly finishedAt: number | null;
  /** What this process has done for the run; null if it only looks at it. */
  readonly thisProcess: ProcessFigures | null;
}

const maxAdoptable = 50;
const maxGivenUp = 10;

/** What only the pipeline knows about a run. */
export interface SummaryNotes {
  /** The partial publication of this process after a deadline. */
  readonly partial?: Publication;
  /** Why this process has published a done run again. */
  readonly publishedAgain?: string | null;
  /** Why this process has published a run that was withheld. */
  readonly released?: string | null;
  /** How this process has loaded the publication. */
  readonly load?: LoadReport | undefined;
}

/** The ports from which a summary is read. */
export interface SummarySources {
  readonly checkpoint: Pick<
    CheckpointReader,
    | 'run'
    | 'tally'
    | 'chunksIn'
    | 'attempts'
    | 'publications'
    | 'spending'
    | 'replyKinds'
    | 'uploadSums'
    | 'nights'
    | 'failureReasons'
  >;
  readonly output: Pick<OutputStore, 'identity'>;
  /** The price of a record. */
  readonly config: Pick<Config, 'budget'>;
  readonly measure?: RunMeasure;
}

/**
 * @param found how this process found the run.
 * @returns the summary. The figures of the output are those of its publication, even if the config has changed.
 */
export async function summarizeRun(
  { checkpoint, output, config, measure }: SummarySources,
  id: string,
  found: RunSummary['found'],
  { partial, publishedAgain = null, released = null, load }: SummaryNotes = {},
): Promise<RunSummary> {
  const run = (await checkpoint.run(id))!;
  const tally = await checkpoint.tally(id);
  const mayAdopt = run.state !== 'superseded' && tally.uploads.ambiguous > 0;
  const mayBeGivenUp = run.state !== 'superseded' && tally.chunks.unprocessed > 0;
  const published = (run.state === 'done' ? run.publication : partial) ?? null;
  const { withheld } = run;
  const confirmed = published === null ? run.confirmed : null;
  const ended = published ?? confirmed;
  const columns = ended?.resultColumns ?? run.columns ?? [];
  const place = published === null ? '' : publicationPlace(published.output.path, id, published.number);
  const origins = ended ? publishedOrigins(ended) : (withheld?.origins ?? openOrigins(run, tally.counts));
  const counts = (ended ?? withheld)?.counts ?? countsOf(run.source, tally.counts);
  // While a published run is written again, its work file has only some of the rows.
  const failedBy = published?.night?.reasons ?? ended?.reasons ?? (await checkpoint.failureReasons(id));
  return {
    run: id,
    pipeline: run.pipeline,
    service: run.service,
    state: run.state,
    exitCode: withheld === null ? (ended?.exitCode ?? null) : withheldExitCode,
    rehearsal: run.rehearsal,
    sample: run.source.limit ?? null,
    found,
    prunedAt: run.prunedAt,
    published: published !== null,
    confirmed: confirmed !== null,
    publication: published?.number ?? null,
    publishedAgain,
    released,
    withheld: withheld && (await withheldFacts({ checkpoint, output }, run, withheld)),
    partial: await partialOutput({ checkpoint, output }, run),
    counts,
    failedBy,
    failedWithoutReason: withoutReason(counts, failedBy),
    origins,
    saved: savedBy(origins, config.budget),
    ...(await costFigures(checkpoint, run, tally, config.budget)),
    outdated: run.choice?.outdated ?? null,
    chunks: { all: run.chunks, byState: tally.chunks },
    uploads: tally.uploads,
    searches: tally.searches,
    ambiguousRecords: tally.ambiguousRecords,
    adoptable: mayAdopt ? await findAdoptable(checkpoint, id, maxAdoptable) : [],
    lost: mayBeGivenUp ? await findFoliosGivenUp(checkpoint, id, 'FOLIO_LOST', maxGivenUp) : [],
    abandoned: mayBeGivenUp ? await findFoliosGivenUp(checkpoint, id, 'FOLIO_ABANDONED', maxGivenUp) : [],
    indistinct: tally.counts.indistinct,
    joinedOnWord: run.join?.judged?.isOnWord ? weakEchoText(run.join) : null,
    columns,
    columnsMissing: columnsMissing(run.choice, columns),
    output: published && {
      path: published.output.path,
      bytes: published.bytes,
      records: published.records,
      sha256: published.sha256,
      ...(place !== published.output.path && { data: dataPath(place) }),
      ...(await findOutput({ checkpoint, output }, run.pipeline, published)),
    },
    ...(published && deltaOf(published, place)),
    ...(ended?.drift && { drift: ended.drift }),
    unusual: published === null ? [] : await unusualOf(checkpoint, run.pipeline, published.number),
    ...(load && { load }),
    manifest: published && besidePath(place, 'manifest.json'),
    marker: published && markerPath(place, run, published.exitCode),
    createdAt: run.createdAt,
    finishedAt: run.finishedAt,
    thisProcess: measure?.figures() ?? null,
  };
}

/** Publications of a pipeline among which the nights before are looked for: a run may have several. */
const RECENT = 100;

/** What is known of a publication as a night, and the nights before it. */
export async function nightOf(
  checkpoint: Pick<CheckpointReader, 'nights'>,
  pipeline: string,
  publication: number,
): Promise<{ readonly night: Night; readonly before: readonly Night[] } | undefined> {
  const [night, ...earlier] = await checkpoint.nights(pipeline, RECENT, publication);
  if (night?.publication !== publication) return undefined;
  return { night, before: nightsBefore(night, earlier) };
}

async function unusualOf(
  checkpoint: Pick<CheckpointReader, 'nights'>,
  pipeline: string,
  publication: number,
): Promise<readonly Unusual[]> {
  const found = await nightOf(checkpoint, pipeline, publication);
  return found === undefined ? [] : findUnusual(found.night, found.before);
}
