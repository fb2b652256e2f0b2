/** What `foliopipe status` prints about a run besides its summary. */
import {
  abandonCommand,
  accountText,
  type CheckpointReader,
  type ChunkRow,
  type Config,
  type FoliopipeError,
  type findAccount,
  findRestamped,
  hintOf,
  isHandedIn,
  leftFoliosHint,
  type ProgressSnapshot,
  type Run,
  type RunSummary,
  type WorkingProcess,
} from '../../../pipelines/index.js';
import { countOf, formatDuration } from '../../quantities.js';
import { escapeUnprintable, presentTexts } from '../../text.js';
import { progressText } from '../display/progress.js';
import { nextLines } from './next-steps.js';
import { runReuseLines } from './reuse-text.js';
import { chunkTexts } from './summary-warnings.js';
import { laterRunText, leaseText, partialLines } from './unfinished-text.js';

/** Most chunks that are named. */
const MOST_CHUNKS = 50;

/**
 * The state of an unfinished run, with its open folios.
 * @param patience `poll.timeout`, in ms: for a folio that is open longer, names the command that gives it up.
 */
export async function unfinishedText(
  state: Pick<CheckpointReader, 'chunksIn'>,
  run: Run,
  summary: RunSummary,
  snapshot: ProgressSnapshot,
  patience: number,
): Promise<string> {
  const states = ['submitted', 'finished', 'ambiguous'] as const;
  const shown = await state.chunksIn(run.id, states, 0, MOST_CHUNKS);
  const all = states.reduce((sum, one) => sum + snapshot.byState[one], 0);
  const more = shown.length < MOST_CHUNKS ? 0 : all - shown.length;
  // Adoptable chunks have a line of their own, with what to do.
  const doubtful = new Set(summary.adoptable.map(({ chunk }) => chunk));
  const folios = shown.filter(({ number }) => !doubtful.has(number));
  const age = (at: number | null) => (at === null ? '' : `, ${formatDuration(Date.now() - at)} ago`);
  const isStuck = ({ state, submittedAt }: ChunkRow) =>
    run.state === 'open' && state === 'submitted' && Date.now() - submittedAt! > patience;
  const lines = presentTexts([
    `${run.source.limit === undefined ? 'run' : `sample (--limit ${run.source.limit})`} ${run.id} of ${formatDuration(Date.now() - run.createdAt)} ago is ${run.state}`,
    `  ${progressText(snapshot, Date.now())}`,
    ...partialLines(summary),
    ...runReuseLines(summary),
    ...folios.map(
      (c) =>
        `  chunk ${c.number}: ${c.state}${c.folio === null ? '' : `, folio ${c.folio}`}${age(c.submittedAt)}${isStuck(c) ? `; to give it up: ${abandonCommand(run.id, c.number)}` : ''}`,
    ),
    more > 0 && `  and ${countOf(more, 'more chunk')}: foliopipe report ${run.id} lists them on a page`,
    ...chunkTexts(summary).map((text) => `  ${text}`),
  ]);
  return `${lines.join('\n')}\n${copiedText(run)}`;
}

/** When a run ended. If last night failed before its run began, this is an older run. */
export function endedText({ finishedAt }: Pick<Run, 'finishedAt'>): string {
  return finishedAt === null
    ? ''
    : `  it ended ${formatDuration(Math.max(Date.now() - finishedAt, 0))} ago\n`;
}

/** The source of a run that reads a copy, and the age of the copy; empty for a source that is not copied. */
export function copiedText({ source, createdAt }: Run): string {
  const [first, ...others] = source.files;
  if (first?.name === undefined) return '';
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  const age = formatDuration(Date.now() - createdAt);
  return `  source: ${escapeUnprintable(first.name)}${more}, copied ${age} ago\n`;
}

/**
 * Says which process works on the pipeline now. If none does, says what would stop the next run, or how to continue an
 * unfinished run.
 * @param stop the error that would stop the next `foliopipe run`; undefined if none is known.
 * @param unfinished the progress of an unfinished run; left out for a completed one.
 * @param name the name of the source, if the run reads a copy.
 */
export function workingText(
  holder: WorkingProcess | undefined,
  stop: FoliopipeError | undefined,
  unfinished?: ProgressSnapshot,
  name?: string,
): string {
  if (holder !== undefined) {
    const { pid, command, since, host, leaseLeftMs, leaseSilentMs = null } = holder;
    const age = formatDuration(Math.max(Date.now() - since, 0));
    const where = host === undefined ? '' : ` on ${escapeUnprintable(host)}`;
    const lease = leaseLeftMs === undefined ? '' : `; ${leaseText(leaseLeftMs, leaseSilentMs)}`;
    return `  working   process ${pid}${where} (${escapeUnprintable(command)}) has been working on the pipeline for ${age}${lease}\n`;
  }
  if (stop !== undefined) {
    const hint = hintOf(stop);
    const next = hint === undefined ? '' : `\n${nextLines(hint)}`;
    return `  foliopipe run would send nothing now: ${stop.message} [${stop.code}]${next}\n`;
  }
  if (unfinished === undefined || unfinished.state === 'superseded') return '';
  const goesOn = isHandedIn(name) ? 'the program that has handed in its records' : 'foliopipe run';
  return `  no process works on it; go on with: ${goesOn}, which ${laterRunText(unfinished)}; if the cause of the stop persists, that run reports it\n`;
}

export function accountLine(account: Awaited<ReturnType<typeof findAccount>>): string {
  if (account === undefined) return '';
  const hint = account.waiting > 0 ? leftFoliosHint(account) : undefined;
  const next = hint === undefined ? '' : `  ${hint}\n`;
  return `  account   ${account.service}: ${accountText(account, Date.now())}\n${next}`;
}

/** Says which database holds the state, because a variable may name one that the config does not show. */
export function stateLine({ state }: Pick<Config, 'state'>): string {
  return state === null ? '' : `  state     ${state}, set by ${state.origin ?? 'the config'}\n`;
}

/** Warns if the source has changed, which the commands that publish a withheld or a partial run need unchanged. */
export async function otherSourceText({ source, state, publication, prunedAt }: Run): Promise<string> {
  const isWithheld = state === 'withheld';
  if ((!isWithheld && publication?.exitCode !== 3) || prunedAt !== null) return '';
  const file = await findRestamped(source.files);
  if (file === undefined) return '';
  const { path, name, bytes, sha256 } = file;
  const copy = name === undefined ? '' : ` (the copy of ${escapeUnprintable(name)})`;
  return `  ${isWithheld ? 'These' : 'retry and publish'} need the source that the run has read: ${path}${copy} with ${bytes} bytes, sha256 ${sha256}. The file there has changed or was touched since; if its content differs, put the old one back first: foliopipe run would begin a new run with the other.\n`;
}

/**
 * For an unfinished run that no process works on: warns if its source was changed or touched, because `run` may refuse to
 * continue it. The stamps of copies, and of files that other machines have read, say nothing.
 */
export async function touchedSourceText({ source }: Run, { state }: Pick<Config, 'state'>): Promise<string> {
  if (state !== null || source.files.some(({ name }) => name !== undefined)) return '';
  const file = await findRestamped(source.files);
  return file === undefined
    ? ''
    : `  the source has changed or was touched since the run has read it: ${escapeUnprintable(file.path)}; if its content differs, foliopipe run says so, and how to go on\n`;
}
