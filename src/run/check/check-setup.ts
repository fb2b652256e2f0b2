/** Checks what a run needs, without paying: folders, disk, source, service and token. Leaves nothing behind. */

import { constants, existsSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ProbeOptions, probeSearch, probeService } from '../../api/probe-service.js';
import { checkCall } from '../../check-call.js';
import { openCheckpointReader } from '../../checkpoint/sqlite/open-sqlite-checkpoint.js';
import { refuseLost } from '../../checkpoint/sqlite/refuse-lost.js';
import { refuseNetworkFolder } from '../../checkpoint/sqlite/refuse-network-folder.js';
import type { Config } from '../../config/schema.js';
import { isS3 } from '../../config/sections/output-names.js';
import { withPlannedPath } from '../../config/sections/output-path.js';
import { STREAM } from '../../config/sections/values.js';
import { delimiterText } from '../../csv/detect-dialect.js';
import { diskError, isPassingTrouble } from '../../disk-error.js';
import { ConfigError, FoliopipeError } from '../../errors.js';
import { createOutputStore } from '../../files/create-output-store.js';
import { workFolderOf } from '../../files/work-file.js';
import { silentLogger } from '../../logger.js';
import { tryToMakeFolder } from '../../make-folder.js';
import { formatBytes } from '../../quantities.js';
import { accountText } from '../../report/account-text.js';
import { checkReplaced } from '../../report/output-owner.js';
import { noRecordsError } from '../../source/scan-source.js';
import { isSpooled, namedFiles } from '../../spool/open-source.js';
import { missingOfService, serviceEndpoint, serviceIdentity, serviceMissing } from '../configured-service.js';
import { createTarget } from '../load/load-run.js';
import type { RunOptions } from '../run-options.js';
import { findAccount, openStateReader, refuseMoved, refuseStateInFolder } from '../state-reader.js';
import { diskOfFolder } from './check-disk.js';
import { checkLoadTarget, uncheckedLoad } from './check-load.js';
import { checkOutput } from './check-output.js';
import { checkColumns } from './check-source.js';
import { refuseUnknownWork } from './check-unknown-work.js';
import { doubtHeader } from './doubt-header.js';
import { judgeSearch, judgeService, unaskedVerdicts, unsure, type Verdict } from './judge-service.js';
import { hasRecord } from './look-at-source.js';
import { type SourceHeader, sourceHeaders } from './source-header.js';

/** What was found about one of the things that `checkSetup` looks at. */
export interface CheckedItem extends Verdict {
  readonly item: 'config' | 'state' | 'output' | 'disk' | 'source' | 'service' | 'token' | 'search' | 'load';
}

/** The options of `checkSetup`. */
export type CheckOptions = Pick<RunOptions, 'endpoint' | 'proxies' | 'signal'>;

/**
 * Checks every item, even after one has failed. Reads only the header of each source file, asks a database only for the
 * columns of a query, and asks the service nothing that is paid. Takes at most 10 seconds where nothing answers.
 * @throws ConfigError `SERVICE_NOT_STARTED`; the signal's reason.
 */
export async function* checkSetup(given: Config, options: CheckOptions = {}): AsyncGenerator<CheckedItem> {
  checkCall('checkSetup', { config: given, options });
  const config = withPlannedPath(given, Date.now());
  yield { item: 'config', outcome: 'ok', text: `pipeline ${config.pipeline}`, error: null };
  yield await checkItem('state', () => checkState(config));
  yield await checkItem('output', () => checkOutputPlace(config, options));
  yield await checkItem('disk', () => freeSpace(config));
  const { signal = new AbortController().signal } = options;
  let header: SourceHeader | undefined;
  yield config.source.path === STREAM
    ? {
        item: 'source',
        ...unsure(
          'check does not read standard input; foliopipe run, submit and plan do, and nothing is paid before it is checked',
        ),
      }
    : await checkItem('source', async () => {
        const headers = await checkHeaders(config, signal);
        header = headers.first;
        const text = headersText(config, headers);
        const doubt = header.file && (await doubtHeader(config, header.file, signal));
        return doubt === undefined ? text : unsure(`${text}; but ${doubt}`);
      });
  const isLocal = yield* checkService(config, options);
  const target = createTarget(config);
  if (target === null) return;
  const source = header;
  yield source === undefined
    ? { item: 'load', ...uncheckedLoad(config) }
    : await checkItem('load', () => checkLoadTarget(config, target, source, { isLocal, signal }));
}

async function checkItem(
  item: CheckedItem['item'],
  check: () => Promise<string | Verdict>,
): Promise<CheckedItem> {
  try {
    const found = await check();
    return typeof found === 'string' ? { item, outcome: 'ok', text: found, error: null } : { item, ...found };
  } catch (thrown) {
    const error = diskError(thrown) ?? thrown;
    if (!(error instanceof FoliopipeError)) throw error;
    return { item, outcome: 'failed', text: error.message, error };
  }
}

/** A database is only connected to: the first run makes the tables. */
async function checkState(config: Config): Promise<string> {
  const { state, files, stateDir } = config;
  await refuseMoved(config);
  await refuseStateInFolder(config);
  if (state === null) return checkStateFolder(stateDir);
  const reader = await openStateReader({ state, stateDir });
  await reader?.close();
  const { expectWritable } = await import('../../checkpoint/postgres/expect-writable.js');
  await expectWritable(state);
  await checkFolder(stateDir, 'scratchDir');
  if (files !== null) await checkFolder(files, 'files');
  if (reader === undefined) return `${state} answers; the first run makes its tables`;
  const service = serviceIdentity(config);
  const account = await findAccount(config, service);
  const now = account === undefined ? '' : `: ${accountText(account, Date.now())}`;
  return `${state} answers; all its pipelines that use ${service} share the limits${now}`;
}

async function checkStateFolder(path: string): Promise<string> {
  const text = await checkFolder(path, 'stateDir');
  await refuseNetworkFolder(nearestFolder(path));
  await refuseLost(join(path, 'checkpoint.db'));
  const reader = await openCheckpointReader(path).catch((error: unknown) => {
    // The next run brings it up to date.
    if (error instanceof FoliopipeError && error.code === 'CHECKPOINT_OLDER') return undefined;
    throw error;
  });
  await reader?.close();
  return text;
}

/** How long a store may stay silent. */
const longestCheckMs = 5000;

async function checkOutputPlace(config: Config, options: Pick<CheckOptions, 'signal'>): Promise<string> {
  const { path, template } = config.output;
  const text = isS3(path)
    ? `${path} can be written to`
    : await checkFolder(workFolderOf(path, config.stateDir), 'output.path');
  // Problems of the source are another item.
  const paths = await namedFiles(config.source).catch(() => []);
  const timeouts = { ...config.timeouts, connect: longestCheckMs, idle: longestCheckMs };
  const store = createOutputStore({ ...config, timeouts }, { ...options, attempts: 1 });
  await checkOutput(config, store, paths);
  // Problems of the state are another item.
  const reader = await openStateReader(config).catch(() => null);
  if (reader !== null) {
    try {
      await checkReplaced(store, config, Date.now(), reader, { logger: silentLogger });
      await refuseUnknownWork(config, reader, { logger: silentLogger }, true);
    } finally {
      await reader?.close();
    }
  }
  return isS3(path) || template === undefined ? text : `${path}: ${text}`;
}

/** Leaves nothing behind: the run will make a missing folder, so its nearest parent must allow that. */
async function checkFolder(path: string, key: string): Promise<string> {
  const nearest = nearestFolder(path);
  const where = nearest === path ? path : `${path} cannot be created, because ${nearest}`;
  if (!(await stat(nearest)).isDirectory()) {
    throw new ConfigError('FOLDER_UNWRITABLE', `${key}: ${where} is not a folder`, {
      hint: 'choose another folder, or move away what is there',
    });
  }
  try {
    await access(nearest, constants.W_OK | constants.X_OK);
    tryToMakeFolder(nearest);
  } catch (cause) {
    if (isPassingTrouble(cause)) throw cause;
    throw new ConfigError('FOLDER_UNWRITABLE', `${key}: ${where} cannot be written to`, {
      hint: 'choose another folder, or let this user write there',
      cause,
    });
  }
  return nearest === path ? `${path} can be written to` : `${path} is missing, and can be created`;
}

/** The folder, or the first of its parents that exists. */
function nearestFolder(path: string): string {
  const parent = dirname(path);
  return existsSync(path) || parent === path ? path : nearestFolder(parent);
}

async function freeSpace({ stateDir, state, output }: Config): Promise<string> {
  const free = async (path: string) => {
    const disk = await diskOfFolder(path);
    return disk === undefined ? 'an unknown amount' : formatBytes(disk.bytes);
  };
  return `${await free(stateDir)} free for ${state === null ? 'the state' : 'scratch files'}, ${await free(workFolderOf(output.path, stateDir))} for the output`;
}

interface Headers {
  readonly first: SourceHeader;
  /** How many sources there are besides the first one. */
  readonly others: number;
}

async function checkHeaders(config: Config, signal: AbortSignal): Promise<Headers> {
  let first: SourceHeader | undefined;
  let others = -1;
  let isEmpty = true;
  for await (const header of sourceHeaders(config, signal)) {
    checkColumns(header, config);
    first ??= header;
    others += 1;
    isEmpty &&= header.file !== undefined && !(await hasRecord(header.file, signal));
  }
  if (isEmpty) {
    const { dialect } = first!.file!;
    const delimiter = delimiterText(dialect.delimiter, config.source.delimiter);
    const readAs = { delimiter, isOurs: false, isMarkedUtf8: false };
    throw noRecordsError({ ...config.source, paths: await namedFiles(config.source) }, first!.file!, readAs);
  }
  return { first: first!, others };
}

function headersText(config: Config, { first: { name, columns, files }, others }: Headers): string {
  const more = others > 0 ? ` and ${others} more` : '';
  const { encoding, delimiter, quote } = files[0]!.dialect;
  const quotes = quote === 'none' ? ', quotes are text' : '';
  const format = isSpooled(config.source)
    ? ''
    : `, ${encoding}, delimiter ${JSON.stringify(delimiter)}${quotes}`;
  return `${name}${more}: ${columns.length} columns${format}`;
}

/** What is said of a service that cannot be asked. */
function missingItem(item: 'service' | 'token', missing: readonly string[]): CheckedItem {
  const key = item === 'service' ? 'service.baseUrl' : 'service.token';
  if (!missing.includes(key)) return { item, ...unsure(`not asked: ${missing.join(' and ')} is missing`) };
  return { item, outcome: 'failed', text: `${key} is missing`, error: serviceMissing([key]) };
}

/** The longest times until a connection is open, and without a byte: shorter than those of a run. */
const TIMEOUTS = { connect: 4_000, idle: 5_000 };

/** @returns whether the service says that it is a local one. */
async function* checkService(
  config: Config,
  { endpoint, proxies, signal = new AbortController().signal }: CheckOptions,
): AsyncGenerator<CheckedItem, boolean> {
  const { service, timeouts, failures } = config;
  const missing = missingOfService(config);
  if (missing.length > 0) {
    yield missingItem('service', missing);
    yield missingItem('token', missing);
    return false;
  }
  const address = serviceEndpoint(config, endpoint);
  const options: ProbeOptions = {
    ...address,
    tokenIn: service.tokenIn,
    timeouts: {
      connect: Math.min(timeouts.connect, TIMEOUTS.connect),
      idle: Math.min(timeouts.idle, TIMEOUTS.idle),
    },
    proxies,
  };
  const searching = failures.rescue === 'search' ? probeSearch(options, signal) : null;
  // A rejection must not end the process while the other question is still open.
  searching?.catch(() => undefined);
  let isLocal = service.embedded;
  const verdicts = await probeService(options, signal).then((probes) => {
    isLocal ||= 'reply' in probes.asked && probes.asked.reply.isLocal;
    return judgeService(probes, address.baseUrl);
  }, unaskedVerdicts);
  yield { item: 'service', ...verdicts.service };
  yield { item: 'token', ...verdicts.token };
  if (searching === null) return isLocal;
  const search = await searching.then(
    (probe) => judgeSearch(probe, address.legacyBaseUrl),
    (error: unknown) => unaskedVerdicts(error).service,
  );
  yield { item: 'search', ...search };
  return isLocal;
}
