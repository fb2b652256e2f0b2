/** What `foliopipe recover` prints: what was rebuilt, what is lost, and what to do next. */
import { type Config, isUnfinished, type Recovered, type RecoveredRun } from '../../../pipelines/index.js';
import { countOf, formatCount } from '../../quantities.js';
import { presentTexts } from '../../text.js';

/** Whether something could not be rebuilt: the next run rejects a state without a run, and buys lost answers again. */
export function isAnyLost({ runs, answers }: Pick<Recovered, 'runs' | 'answers'>): boolean {
  return runs.some(({ found }) => found === 'lost') || answers.lost.length > 0;
}

export function rebuiltText(recovered: Recovered, config: Config, dryRun: boolean): string {
  const { base, runs, answers, searches, replaced, aside, mayLackPruned } = recovered;
  const rebuilt = runs.filter(({ found }) => found === 'rebuilt');
  const lost = runs.filter(({ found }) => found === 'lost');
  const done = replaced ? 'rebuilt' : 'would be rebuilt';
  return `${presentTexts([
    baseText(base, rebuilt.length + lost.length),
    ...runs.map(runText),
    (rebuilt.length > 0 || base !== 'whole') && `${countOf(rebuilt.length, 'run')} ${done}`,
    ...answersText(answers, done),
    searches > 0 && `${countOf(searches, 'search', 'searches')} outside of runs ${done}`,
    ...asideText(aside),
    mayLackPruned &&
      'if a foliopipe before 0.1.0 was ever used in this folder: runs whose results it removed are missing from the ledger',
    rebuilt.length + lost.length + searches === 0 && base === 'whole' && 'nothing is missing',
    ...(dryRun ? [] : nextText(rebuilt, config)),
  ]).join('\n')}\n`;
}

function baseText(base: Recovered['base'], lacking: number): string {
  if (base !== 'whole') return `the checkpoint is ${base}`;
  if (lacking === 0) return 'the checkpoint is whole';
  const parts = lacking === 1 ? 'a part of it' : 'parts of them';
  return `checkpoint.db can be read, but lacks ${countOf(lacking, 'run')} or ${parts}`;
}

function answersText({ segments, successful, failed, lost }: Recovered['answers'], done: string): string[] {
  const count = formatCount(successful + failed);
  return presentTexts([
    segments > 0 && `stored answers of ${countOf(segments, 'run')} ${done}: ${count}`,
    ...lost.map(
      (path) =>
        `${path} is damaged: its answers are bought again, unless you restore it from a copy and run foliopipe recover again; else move it away`,
    ),
  ]);
}

/** Empty when there was no old database. */
function asideText(aside: Recovered['aside']): string[] {
  if (aside.length === 0) return [];
  const isWhole = aside.some((path) => path.endsWith('.bak'));
  const what = isWhole ? 'the old checkpoint is' : 'what was left of the old checkpoint is';
  return [`${what} kept as ${aside.join(' and ')}`];
}

function nextText(rebuilt: readonly RecoveredRun[], { ambiguous }: Config): string[] {
  const goesOn = rebuilt.filter(isUnfinished);
  if (goesOn.length === 0) return [];
  const uploads = goesOn.reduce((sum, { undecided }) => sum + undecided.uploads, 0);
  if (uploads === 0) return ['next: foliopipe run goes on and pays for nothing again'];
  const records = goesOn.reduce((sum, { undecided }) => sum + undecided.records, 0);
  const isHeld = ambiguous.policy === 'hold';
  const them = uploads === 1 ? 'it' : 'them';
  const then = isHeld ? `does not send ${them} again` : `sends ${them} again and may pay for ${them} twice`;
  const files = uploads === 1 ? 'the file' : 'the files';
  return [
    `next: foliopipe run goes on. ${countOf(uploads, 'upload')} (${countOf(records, 'record')}) may or may not have been accepted: foliopipe run ${then} (ambiguous.policy: ${ambiguous.policy}). Before that, run foliopipe status: it names ${files} to look for at the service.`,
  ];
}

function runText({ run, pipeline, found, reason, ...of }: RecoveredRun): string {
  if (found === 'kept') return `${run}  whole`;
  if (found === 'renewed') return `${run}  whole; ${reason}, and is written again`;
  if (found === 'lost') return lostRunText(run, reason ?? '');
  const { state, chunks, folios, downloaded, ambiguous, records, ambiguousRecords, prunedAt } = of;
  const perhaps = ambiguousRecords > 0 ? `, ${formatCount(ambiguousRecords)} more perhaps` : '';
  const held = presentTexts([
    `${countOf(records - ambiguousRecords, 'record')} paid for${perhaps}`,
    countOf(folios, 'folio'),
    ...(prunedAt === null
      ? [`all results of ${formatCount(downloaded)} of ${countOf(chunks, 'chunk')}`]
      : ['pruned']),
    ambiguous > 0 && `${countOf(ambiguous, 'upload')} possibly accepted`,
  ]);
  return `${run}  ${pipeline}, ${state}: ${held.join(', ')}`;
}

function lostRunText(run: string, reason: string): string {
  const folios = reason.endsWith('is damaged')
    ? ' Ask the provider for the folios in paid.log ("type":"accepted").'
    : '';
  return `${run}  cannot be rebuilt: ${reason}. Restore a copy of paid.log or of checkpoint.db and run foliopipe recover again. If there is no copy: move the folder runs/${run} away; foliopipe run --yes then pays for this source again.${folios}`;
}
