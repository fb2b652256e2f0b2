/** `foliopipe state`: backs up the state while runs work on it, restores it, and copies it into a database and back. */
import type { Command } from 'commander';
import {
  type BackedUp,
  backupState,
  isUnfinished,
  type Restored,
  restoreState,
} from '../../../pipelines/index.js';
import { countOf, formatBytes, formatCount } from '../../quantities.js';
import { presentTexts, quoteForShell } from '../../text.js';
import {
  type CommonOptions,
  type Finish,
  lockHolder,
  readConfig,
  withCommonOptions,
} from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { printList, printResult } from '../output.js';
import { warnOfMove } from '../session.js';
import { withStopSignal } from '../stop-signals.js';
import { isAnyLost } from '../texts/rebuilt-text.js';
import { addStateCopy } from './state-copy.js';

export function addState(command: Command, finish: Finish): void {
  addBackup(command);
  addRestore(command, finish);
  addStateCopy(command);
}

interface BackupFlags extends CommonOptions {
  readonly results?: boolean;
}

function addBackup(state: Command): void {
  const command = state
    .command('backup')
    .description('copy the state into a new folder, also while runs work on it')
    .argument('<folder>', 'the folder to make; an existing one must be empty')
    .argument('[file]', 'config file')
    .option(
      '--results',
      'copy the stored results too; else a restored run fetches them from the service again',
    );
  withCommonOptions(command).action(
    async (folder: string, file: string | undefined, options: BackupFlags) => {
      const config = await readConfig(options, file, 'nothing');
      const { results = false } = options;
      const backedUp = await withStopSignal((signal) => backupState(config, { folder, results, signal }));
      await warnOfMove(config, 'what is backed up');
      const { runs, ...rest } = backedUp;
      await printResult(options, { ...rest, runs: runs.length, exitCode: 0 }, backedUpText(backedUp));
    },
  );
}

interface RestoreFlags extends CommonOptions {
  readonly replace?: boolean;
  readonly dryRun?: boolean;
}

function addRestore(state: Command, finish: Finish): void {
  const command = state
    .command('restore')
    .description('check a backup, put it back, and add what the remaining journals know')
    .argument('<folder>', 'the folder of the backup')
    .argument('[file]', 'config file')
    .option('--dry-run', 'only check the backup')
    .option('--replace', 'restore over an existing state; what only that state knows is kept');
  withCommonOptions(command).action(
    async (folder: string, file: string | undefined, options: RestoreFlags) => {
      const config = await readConfig(options, file, 'nothing');
      const { replace = false, dryRun = false } = options;
      const restored = await withStopSignal((signal) =>
        restoreState(config, {
          folder,
          replace,
          dryRun,
          signal,
          logger: createLogger(options),
          holder: lockHolder(),
        }),
      );
      const { runs, ...rest } = restored;
      const isLost = rest.recovered !== null && isAnyLost(rest.recovered);
      const fields = { ...rest, runs: runs.length, dryRun, exitCode: isLost ? 2 : 0 };
      await printList(options, 'run', runs, fields, restoredText(restored, isLost));
      finish(fields.exitCode);
    },
  );
}

function backedUpText({ folder, createdAt, runs, files, bytes, partsLeftOut }: BackedUp): string {
  const unfinished = runs.filter(isUnfinished);
  return `${presentTexts([
    `${folder}: the state of ${timeOf(createdAt)}, ${countOf(runs.length, 'run')} (${formatCount(unfinished.length)} unfinished), ${countOf(files, 'file')}, ${formatBytes(bytes)}`,
    partsLeftOut > 0 &&
      `without ${countOf(partsLeftOut, 'stored part')}: a restore fetches them again, or copy them with --results`,
    `check it with: foliopipe state restore ${quoteForShell(folder)} --dry-run`,
  ]).join('\n')}\n`;
}

function restoredText(restored: Restored, isLost: boolean): string {
  const { createdAt, runs, files, recovered, isComplete, newerOutputs, refusal, aside, results } = restored;
  const what = recovered === null ? 'can be restored' : 'restored';
  const head = `${what}: the state of ${timeOf(createdAt)}, ${countOf(runs.length, 'run')}, ${countOf(files, 'file')}; no file of the backup has changed`;
  const unfinished = runs.filter(isUnfinished);
  return `${presentTexts([
    head,
    refusal !== null && refusalText(refusal),
    ...unfinished.map(
      ({ run, pipeline, uploads }) =>
        `${run}  ${pipeline}, unfinished then: ${countOf(uploads, 'upload')} known${isComplete ? '' : '; later ones may be missing'}`,
    ),
    ...newerOutputs.map(
      ({ path, publication, known, run }) =>
        `${path} is publication ${publication} of run ${run}, newer than the backup (${known})`,
    ),
    !results && 'without stored parts: they are fetched from the service again, at no cost',
    ...(recovered === null ? [] : recoveredText(recovered)),
    ...aside.map((path) => `what was there before is kept as ${path}`),
    recovered !== null && nextText(createdAt, isComplete, isLost),
  ]).join('\n')}\n`;
}

function refusalText({ code, message, hint }: NonNullable<Restored['refusal']>): string {
  return `but it would be refused now: ${message} [${code}]${hint === null ? '' : `; ${hint}`}`;
}

function recoveredText({ runs }: NonNullable<Restored['recovered']>): string[] {
  return runs.flatMap(({ run, found, reason, folios, records }) => {
    if (found === 'rebuilt') {
      return [
        `${run}  its journal knew more than the database: ${countOf(folios, 'folio')}, ${countOf(records, 'record')} that are, or may be, paid for`,
      ];
    }
    return found === 'lost' ? [`${run}  cannot be rebuilt: ${reason}`] : [];
  });
}

function nextText(createdAt: number, isComplete: boolean, isLost: boolean): string {
  if (isLost) return 'next: foliopipe recover --dry-run names what is missing for each run';
  if (isComplete)
    return 'next: foliopipe run continues; the old database was complete, and the journals know everything that it knew to be paid for';
  return `next: what was sent after ${timeOf(createdAt)} is not known, except from the journals that were left in the folder; without the old database nobody can tell whether these are complete. Look at the service for newer files of these pipelines, and bind those of unfinished runs (foliopipe adopt --run RUN --chunk CHUNK FOLIO); foliopipe run then asks for --yes before it sends anything`;
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
