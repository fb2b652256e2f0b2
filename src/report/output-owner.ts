/**
 * Checks that only one pipeline writes an output (rule "One writer", docs/architecture.md#one-writer), and that this
 * state knows the publication that is in place.
 */
import type { CheckpointReader } from '../checkpoint/checkpoint-reader.js';
import type { Run } from '../checkpoint/state.js';
import { isUnfinished } from '../checkpoint/walk-run.js';
import { anchorOf, isFolder } from '../config/sections/output-names.js';
import { frozenOutputPath } from '../config/sections/output-path.js';
import { EMBEDDED } from '../config/sections/service-section.js';
import { ConfigError, GuardError } from '../errors.js';
import type { OutputStore } from '../files/output-store.js';
import type { Logger } from '../logger.js';
import { escapeUnprintable } from '../text.js';
import { newestInPlace, ownerPath, readHead, textIn, type WritesOutput } from './output-head.js';

/** The pipeline that wants to write an output. */
export interface OutputWriter {
  readonly pipeline: string;
  /** Whether it only tries things out, with the embedded service. */
  readonly isTrial: boolean;
}

/**
 * A real pipeline may replace a trial of another one, such as the sample job.
 * @throws ConfigError `OUTPUT_OF_OTHER_PIPELINE` when the manifest beside the output names another pipeline.
 */
export async function refuseOtherPipeline(
  store: Pick<OutputStore, 'read'>,
  output: string,
  { pipeline, isTrial }: OutputWriter,
): Promise<void> {
  const manifest = ownerPath(output);
  const head = await readHead(store, output);
  const owner = textIn(head, 'pipeline');
  if (owner === undefined || owner === pipeline) return;
  if (!isTrial && textIn(head, 'service')?.startsWith(EMBEDDED)) return;
  const name = escapeUnprintable(owner);
  throw new ConfigError(
    'OUTPUT_OF_OTHER_PIPELINE',
    `${output} was published by the pipeline ${name}, and two pipelines cannot write one output`,
    {
      hint: `give the pipeline ${pipeline} another output.path before its run begins; or, if ${name} no longer writes this output, move ${isFolder(output) ? `${manifest} away` : `it away together with ${manifest}`} and run the same command again`,
      facts: { path: output, pipeline: name, manifest },
    },
  );
}

/**
 * A rehearsal replaces no output that was paid for (rule "A rehearsal never looks real").
 * @param run the id of the rehearsal.
 * @throws ConfigError `OUTPUT_PAID_FOR` when the manifest beside the output is not that of a rehearsal.
 */
export async function refuseOverPaid(
  store: Pick<OutputStore, 'read'>,
  output: string,
  run: string,
): Promise<void> {
  const manifest = ownerPath(output);
  const head = await readHead(store, output);
  const status = textIn(head, 'status');
  if (status === undefined || status === 'REHEARSAL') return;
  const publication = Number(textIn(head, 'publication'));
  throw new ConfigError(
    'OUTPUT_PAID_FOR',
    `${output} is publication ${publication}, which was paid for, and run ${run} is a rehearsal: its answers are not real and do not replace it`,
    {
      hint: `publish the rehearsal at another path: foliopipe publish ${run} --output FILE; or, to replace what was paid for, move ${isFolder(output) ? `${manifest} away` : `it away together with ${manifest}`} and run the same command again`,
      facts: { path: output, run, publication, manifest },
    },
  );
}

/**
 * The number of the newest publication in place, as its manifest has it; 0 if it is of another pipeline, or there is none.
 * @param now epoch milliseconds.
 */
export async function numberInPlace(
  store: Pick<OutputStore, 'read' | 'names'>,
  config: WritesOutput,
  now: number,
): Promise<number> {
  const { pipeline } = config;
  const { head } = await newestInPlace(store, config, now);
  const number = Number(textIn(head, 'publication'));
  return textIn(head, 'pipeline') === pipeline && Number.isSafeInteger(number + 1) ? number : 0;
}

/** What to do about an output that this state has not published. */
interface OwnerOptions {
  /** Goes on anyway, with a warning. */
  readonly yes?: boolean | undefined;
  readonly logger: Logger;
}

/** What the checks before a run read from a state. */
type OwnerReader = Pick<CheckpointReader, 'publications' | 'runs' | 'runHeads' | 'run' | 'tally'>;

/**
 * The checks of the output before a run is begun.
 * @param config with the path of the run.
 * @param now epoch milliseconds.
 * @param reader undefined if there is no state yet.
 * @throws ConfigError `OUTPUT_FOREIGN`; GuardError `STATE_BEHIND`, `OUTPUT_RUN_UNFINISHED`.
 */
export async function checkReplaced(
  store: Pick<OutputStore, 'read' | 'names'>,
  config: WritesOutput,
  now: number,
  reader: OwnerReader | undefined,
  options: OwnerOptions,
): Promise<void> {
  const { pipeline } = config;
  const { path } = config.output;
  const { output, head } = await newestInPlace(store, config, now);
  if (output !== path || head === '') await refuseForeign(store, path, pipeline, reader, options);
  refuseUnlessYes(await behindIn(head, output, pipeline, reader), options);
  refuseUnlessYes(await unfinishedOfOther(config, reader), options);
}

/**
 * The error for an output that an unfinished run of another pipeline has paid for. That may be this pipeline under an
 * earlier name. The output would be paid for again, and only one of the two runs could publish it.
 */
async function unfinishedOfOther(
  { pipeline, output: { path } }: WritesOutput,
  reader: OwnerReader | undefined,
): Promise<GuardError | undefined> {
  for (const head of (await reader?.runHeads()) ?? []) {
    if (head.pipeline === pipeline || !isUnfinished(head) || head.rehearsal) continue;
    if (frozenOutputPath((await reader!.run(head.id))!) !== path) continue;
    const { uploads, chunks } = await reader!.tally(head.id);
    if (uploads.accepted + uploads.ambiguous + chunks.uploading === 0) continue;
    const text = `run ${head.id} of the pipeline ${head.pipeline} is unfinished, and writes ${path} too: what it has paid for would be paid for again`;
    return new GuardError('OUTPUT_RUN_UNFINISHED', text, {
      hint: `finish it first, under its own name: foliopipe run --set pipeline=${head.pipeline}; or name another output.path; to begin a run of ${pipeline} anyway: foliopipe run --yes`,
      facts: { path, run: head.id, pipeline: head.pipeline },
    });
  }
  return undefined;
}

/**
 * Refuses to pay with a state that is older than the output, such as a copy of the state folder that was put back. It does
 * not know what was sent after the copy, which would be paid for again. The same is true of a state without any run, if
 * the output was paid for: the state folder was removed, or its disk is not mounted. It is not refused if a run has begun
 * after that publication, because a person has allowed that run. A sample allows only its own output.
 * @throws GuardError `STATE_BEHIND`.
 */
export async function refuseBehind(
  store: Pick<OutputStore, 'read'>,
  output: string,
  pipeline: string,
  reader: Pick<CheckpointReader, 'publications' | 'runs'>,
  options: OwnerOptions,
): Promise<void> {
  refuseUnlessYes(await findBehind(store, output, pipeline, reader), options);
}

/** The error of `refuseBehind`; undefined if the state is not older than the output. */
export async function findBehind(
  store: Pick<OutputStore, 'read'>,
  output: string,
  pipeline: string,
  reader: Pick<CheckpointReader, 'publications' | 'runs'>,
): Promise<GuardError | undefined> {
  return behindIn(await readHead(store, output), output, pipeline, reader);
}

function refuseUnlessYes(behind: GuardError | undefined, { yes = false, logger }: OwnerOptions): void {
  if (behind === undefined) return;
  if (!yes) throw behind;
  logger.warn(behind.facts, `${behind.message}; it goes on, because of --yes`);
}

async function behindIn(
  head: string,
  output: string,
  pipeline: string,
  reader: Pick<CheckpointReader, 'publications' | 'runs'> | undefined,
): Promise<GuardError | undefined> {
  const [publication, run] = [Number(textIn(head, 'publication')), textIn(head, 'run')];
  if (textIn(head, 'pipeline') !== pipeline || run === undefined) return undefined;
  const files = (await reader?.publications(pipeline)) ?? [];
  const known = files.find(({ isSample, path }) => !isSample || path === output);
  if (!(publication > (known?.number ?? 0))) return undefined;
  const runs = (await reader?.runs(pipeline)) ?? [];
  const [newest] = runs;
  const name = escapeUnprintable(run);
  const facts = { path: output, publication, run: name, newest: newest?.id ?? null };
  if (newest === undefined) {
    if (textIn(head, 'status') === 'REHEARSAL') return undefined;
    const text = `${output} is publication ${publication} of the pipeline ${pipeline}, which run ${name} has put there, and the state here knows no run of it: what was sent before would be paid for again`;
    return new GuardError('STATE_BEHIND', text, {
      hint: 'if the state is in another place, name that (--state-dir), or put it back (docs/backup.md), and run the same command again; if this one is new on purpose: foliopipe run --yes, which pays again',
      facts,
    });
  }
  const published = Date.parse(textIn(head, 'published') ?? '');
  const looksAt = (one: Run) => one.source.limit === undefined || frozenOutputPath(one) === output;
  if (runs.some((one) => looksAt(one) && beganAfter(one, { run, published }))) return undefined;
  const text = `the state is older than ${output}: it does not know publication ${publication}, which run ${name} has put there; what was sent after ${newest.id}, the newest run that it knows, would be paid for again`;
  return new GuardError('STATE_BEHIND', text, {
    hint: 'put back the newest state and run the same command again (docs/backup.md); if there is none, or another state writes this output on purpose: foliopipe run --yes, which may pay again',
    facts,
  });
}

/**
 * Refuses to replace a file without a manifest that foliopipe has not published. A publication whose manifest was moved
 * away is known by its path. An empty file may be replaced.
 * @param reader undefined if there is no state yet.
 * @throws ConfigError `OUTPUT_FOREIGN`.
 */
async function refuseForeign(
  store: Pick<OutputStore, 'read'>,
  output: string,
  pipeline: string,
  reader: Pick<CheckpointReader, 'publications'> | undefined,
  { yes = false, logger }: OwnerOptions,
): Promise<void> {
  const first = await store.read(output, 1);
  if (first === undefined || first.length === 0) return;
  const published = (await reader?.publications(pipeline)) ?? [];
  if (published.some(({ path }) => path === output)) return;
  const what = isFolder(output) ? 'foliopipe has not written it' : 'no manifest of foliopipe is beside it';
  const text = `${anchorOf(output)} is a file that the pipeline ${pipeline} has not published: ${what}`;
  if (yes) return logger.warn({ path: output }, `${text}; it is replaced, because of --yes`);
  throw new ConfigError('OUTPUT_FOREIGN', text, {
    hint: 'nothing was sent now; move it away or name another output.path (--output), then run the same command again; run and submit replace it with --yes',
    facts: { path: output },
  });
}

/**
 * Whether a run began after a publication, which an old run may have made.
 * @param publication `published`: epoch milliseconds; NaN if an older version wrote it: the run's id then gives the time.
 */
function beganAfter(
  { id, createdAt }: Pick<Run, 'id' | 'createdAt'>,
  publication: { readonly run: string; readonly published: number },
): boolean {
  if (!Number.isNaN(publication.published)) return createdAt > publication.published;
  // Ids of runs begin with a time to the second.
  const [time, before] = [id, publication.run].map((name) => name.slice(0, name.indexOf('-')));
  return time! > before!;
}
