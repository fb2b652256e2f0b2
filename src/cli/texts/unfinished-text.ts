/** Texts about a run that is not complete: what is paid, fetched and open at the service, and how to continue it. */
import { type ProgressSnapshot, partialText, type RunSummary } from '../../../pipelines/index.js';
import { countOf, formatCount, formatDuration } from '../../quantities.js';
import { presentTexts } from '../../text.js';
import { field } from './summary-field.js';

/** Records and chunks of a run that is not complete. */
interface Stand {
  readonly run: string;
  readonly pipeline: string;
  /** Records to send, and those to send again. */
  readonly records: number;
  /** Records that were accepted; those that were sent again count again. */
  readonly paid: number;
  /** Paid records whose answers are downloaded. */
  readonly fetched: number;
  readonly open: { readonly folios: number; readonly records: number };
  /** Records of uploads that may or may not have been accepted. */
  readonly perhaps: number;
  /** Records of chunks that were given up: their folio is lost or abandoned, or their upload was held as ambiguous. */
  readonly givenUp: number;
  /** Nothing was paid: a local service has answered. */
  readonly rehearsal: boolean;
}

/** The state of a run; undefined if the run has ended, or is not known. */
export function standOf(snapshot: ProgressSnapshot | undefined): Stand | undefined {
  if (snapshot?.state !== 'open') return undefined;
  const { run, pipeline, toSend, sentAgain, byState, recordsByState: records, rehearsal } = snapshot;
  const open = records.submitted + records.finished;
  const fetched = records.downloaded;
  return {
    run,
    pipeline,
    records: toSend + sentAgain,
    paid: fetched + open,
    fetched,
    open: { folios: byState.submitted + byState.finished, records: open },
    perhaps: records.ambiguous + records.uploading,
    givenUp: records.unprocessed,
    rehearsal,
  };
}

/**
 * Such as `run R: 30 of 60 records are paid for, 10 of them are fetched; 2 folios with 20 records are still at the
 * service`.
 */
export function standText({ run, records, paid, fetched, open, perhaps, givenUp, rehearsal }: Stand): string {
  const [name, isPaid] = rehearsal ? ['rehearsal', 'sent'] : ['run', 'paid for'];
  const lost = `${countOf(givenUp, 'record')} ${givenUp === 1 ? 'is' : 'are'} given up${rehearsal ? '' : ' (paid for, or perhaps)'}`;
  const doubt = presentTexts([
    givenUp > 0 && paid > 0 && `; ${lost}`,
    perhaps > 0 && `; ${countOf(perhaps, 'record')} may have been accepted`,
  ]).join('');
  if (paid === 0) {
    return `${name} ${run}: ${givenUp === 0 ? 'nothing' : `${lost}; nothing else`} is ${isPaid} yet${doubt}`;
  }
  const what = `${formatCount(paid)} of ${countOf(records, 'record')} are ${isPaid}, ${formatCount(fetched)} of them are fetched`;
  const { folios } = open;
  const there = `${countOf(folios, 'folio')} with ${countOf(open.records, 'record')} ${folios === 1 ? 'is' : 'are'} still at the service`;
  return `${name} ${run}: ${what}${folios === 0 ? '' : `; ${there}`}${doubt}`;
}

/** What the next `foliopipe run` does with a run that is not complete, such as `sends 30 records (to be paid)`. */
export function laterRunText({
  state,
  toSend,
  sentAgain,
  byState,
  recordsByState: records,
}: ProgressSnapshot): string {
  if (state === 'publishing') return 'puts the output in place; nothing more is sent';
  const perhaps = records.ambiguous + records.uploading;
  const left =
    toSend +
    sentAgain -
    records.submitted -
    records.finished -
    perhaps -
    records.downloaded -
    records.unprocessed -
    records.refused;
  const folios = (state: 'submitted' | 'finished', kind: string) =>
    `${countOf(byState[state], kind)} with ${countOf(records[state], 'record')}`;
  const steps = presentTexts([
    records.submitted > 0 && `waits for ${folios('submitted', 'open folio')}`,
    records.finished > 0 && `fetches ${folios('finished', 'finished folio')}`,
    perhaps > 0 && `decides on ${countOf(perhaps, 'record')} that may have been accepted`,
    left > 0 && `sends ${countOf(left, 'record')}`,
  ]);
  return steps.length === 0
    ? 'publishes the whole output'
    : `${steps.join(', ')}, and publishes the whole output`;
}

/** The partial output of a deadline that is in place while the run is not complete, and what it lacks. */
export function partialLines({ partial }: Pick<RunSummary, 'partial'>): string[] {
  if (partial === null) return [];
  return field('partial', partialText(partial, Date.now()));
}

/**
 * How long the lease of a process lasts, or that the process may be lost.
 * @param leftMs the time until the lease ends, unless it is renewed.
 * @param silentMs the time since the last renewal, if it is overdue; else null.
 */
export function leaseText(leftMs: number, silentMs: number | null): string {
  if (silentMs === null) return `lease ends in ${formatDuration(leftMs)} unless renewed`;
  return `last heard ${formatDuration(silentMs)} ago: it may be lost, and its lease ends in ${formatDuration(leftMs)}`;
}
