/**
 * Gives up a folio that the service never finishes, or whose answers cannot be trusted, so that its run can end without
 * it. Sends nothing; needs no token and no source.
 */
import {
  abandonCommand,
  adoptCommand,
  type Checkpoint,
  type ChunkRow,
  type Config,
  ConfigError,
  checkCall,
  checkKnown,
  LockedError,
  namedRun,
  priceOf,
  type Run,
  type RunOptions,
  reworded,
  withState,
} from '../src/index.js';

/** What `abandon` has given up. */
export interface Abandonment {
  /** Names a run of the config's pipeline that is open (see `namedRun`). */
  readonly run: string;
  readonly chunk: number;
}

/** The chunk whose folio was given up. */
export interface AbandonedChunk extends Abandonment {
  readonly pipeline: string;
  readonly folio: string;
  /** Records of the chunk: paid for, and without an answer until the folio is bound again. */
  readonly records: number;
  /** 0: the records become UNPROCESSED. Else the round that has sent them again: they stay FAILED. */
  readonly round: number;
  /** What was paid for them; null without `budget.pricePerRecord`, 0 in a rehearsal. */
  readonly amount: number | null;
  readonly currency: string;
  readonly rehearsal: boolean;
  /** How many records the run has at most, if it is a sample (`limit`); null if it has the whole source. */
  readonly sample: number | null;
  /** Whether an earlier command had given it up already; nothing has changed then. */
  readonly already: boolean;
}

/**
 * The options of `abandon`. With `yes`, a chunk can be given up whose answers are downloaded: if they cannot be trusted,
 * its run ends with exit 6 each time.
 */
export type AbandonOptions = Pick<
  RunOptions,
  'signal' | 'logger' | 'waitLock' | 'holder' | 'clock' | 'checkpoint' | 'lock' | 'yes'
>;

/**
 * Takes the pipeline's lock. The next run ends with the chunk's records UNPROCESSED (`FOLIO_ABANDONED`); `adopt` binds
 * the folio again.
 * @throws LockedError while a run works; ConfigError `RUN_UNKNOWN`, `RUN_AMBIGUOUS`, `ABANDON_RUN_ENDED`,
 *   `ABANDON_CHUNK_UNKNOWN`,
 *   `ABANDON_CHUNK_STATE`, and those of the state.
 */
export async function abandon(
  config: Config,
  what: Abandonment,
  options: AbandonOptions = {},
): Promise<AbandonedChunk> {
  checkCall('abandon', { config, what, run: what?.run, chunk: what?.chunk, options });
  const work = withState(config, options, async ({ checkpoint }) => {
    const run = await findOpenRun(checkpoint, config.pipeline, what.run);
    await checkpoint.verifyPaid(run.id);
    const { chunk, already } = await findStuckChunk(checkpoint, run.id, what.chunk, options.yes === true);
    if (chunk.state === 'downloaded') {
      // Its rows may be merged, so they are merged again.
      await checkpoint.recordUnmerged(run.id, chunk.firstRecord);
    }
    if (!already) await checkpoint.recordUnprocessed(run.id, chunk.number, 'FOLIO_ABANDONED');
    const { pricePerRecord, currency } = config.budget;
    return {
      run: run.id,
      chunk: chunk.number,
      pipeline: config.pipeline,
      folio: chunk.folio!,
      records: chunk.records,
      round: chunk.round,
      amount: priceOf(run.rehearsal ? 0 : chunk.records, pricePerRecord),
      currency,
      rehearsal: run.rehearsal,
      sample: run.source.limit ?? null,
      already,
    };
  });
  return work.catch((error: unknown) => {
    throw error instanceof LockedError ? workingError(error) : error;
  });
}

async function findOpenRun(checkpoint: Checkpoint, pipeline: string, name: string): Promise<Run> {
  const run = await namedRun(checkpoint, pipeline, name);
  checkKnown(run, pipeline, name);
  if (run.state === 'open') return run;
  const hint =
    run.state === 'publishing'
      ? 'all its folios are answered or given up; to put its output in place: foliopipe run'
      : 'nothing waits for a folio of it any more; see: foliopipe runs';
  throw new ConfigError('ABANDON_RUN_ENDED', `run ${run.id} is ${run.state}: it has no folio to give up`, {
    hint,
    facts: { run: run.id, state: run.state },
  });
}

async function findStuckChunk(
  checkpoint: Checkpoint,
  run: string,
  number: number,
  isHereToo: boolean,
): Promise<{ readonly chunk: ChunkRow; readonly already: boolean }> {
  const chunk = await checkpoint.chunk(run, number);
  if (chunk === undefined) {
    throw new ConfigError('ABANDON_CHUNK_UNKNOWN', `run ${run} has no chunk ${number}`, {
      hint: `see the open folios and their chunks with: foliopipe status --run ${run}`,
      facts: { run, chunk: number },
    });
  }
  const { state, cause, folio } = chunk;
  const isHere = state === 'downloaded' && isHereToo;
  if (state === 'submitted' || state === 'finished' || isHere) return { chunk, already: false };
  if (cause === 'FOLIO_ABANDONED') return { chunk, already: true };
  const how = [state, cause, folio && `folio ${folio}`].filter((part) => part !== null);
  throw new ConfigError(
    'ABANDON_CHUNK_STATE',
    `chunk ${number} of run ${run} is ${how.join(', ')}: it has no open folio to give up`,
    { hint: hintFor(run, chunk), facts: { run, chunk: number, state, cause, folio } },
  );
}

/** What to do with a chunk that has no open folio. */
function hintFor(run: string, { number, state, folio }: ChunkRow): string {
  switch (state) {
    case 'downloaded':
      return `its answers are downloaded, and foliopipe run takes them; if that ends with exit 6, give them up with: ${abandonCommand(run, number)} --yes`;
    case 'uploading':
    case 'ambiguous':
      return `foliopipe run decides on it; with ambiguous.policy: hold it is given up and not sent again; if the service lists its file: ${adoptCommand(run, number, 'FOLIO')}`;
    case 'unprocessed':
      return `it is given up already; to bind a folio to it: ${adoptCommand(run, number, folio ?? 'FOLIO')}`;
    default:
      return 'nothing is paid for it, so there is nothing to give up; foliopipe run goes on';
  }
}

/** A run that waits for the folio holds the lock. Stopping it loses nothing. */
function workingError(error: LockedError): LockedError {
  return reworded(error, {
    hint: 'stop that run with Ctrl-C or SIGTERM, which loses nothing, or wait until it ends (--wait-lock); then type this command again',
  });
}
