/** Checks what a run needs, without paying: folders, source, service and token. */
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { PredictionApi } from '../api/prediction-api.js';
import { refuseNetworkFolder } from '../checkpoint/sqlite/refuse-network-folder.js';
import type { Config } from '../config/schema.js';
import { ConfigError, FolioLostError, FoliopipeError, RefusedError } from '../errors.js';
import { inspectFile } from '../source/inspect-file.js';
import { findFiles } from '../source/source-files.js';
import { checkColumns } from './check-source.js';

export interface CheckedItem {
  readonly item: 'state folder' | 'output folder' | 'source' | 'service';
  /** What was found, as text. */
  readonly text: string;
  readonly error: FoliopipeError | null;
}

/** Checks every item, even after one has failed. Reads only the header of each source file. */
export async function* checkSetup(
  config: Config,
  api: PredictionApi,
  signal: AbortSignal,
): AsyncGenerator<CheckedItem> {
  yield await checkItem('state folder', () => checkStateFolder(config.stateDir));
  yield await checkItem('output folder', () => checkFolder(dirname(config.output.path), 'output.path'));
  yield await checkItem('source', () => checkSourceHeader(config));
  yield await checkItem('service', () => checkService(api, signal));
}

async function checkItem(item: CheckedItem['item'], check: () => Promise<string>): Promise<CheckedItem> {
  try {
    return { item, text: await check(), error: null };
  } catch (error) {
    if (!(error instanceof FoliopipeError)) throw error;
    return { item, text: error.message, error };
  }
}

async function checkStateFolder(path: string): Promise<string> {
  const text = await checkFolder(path, 'stateDir');
  await refuseNetworkFolder(path);
  return text;
}

async function checkFolder(path: string, key: string): Promise<string> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await access(path, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw new ConfigError('FOLDER_UNWRITABLE', `${key}: ${path} cannot be written to`, {
      hint: 'choose another folder, or let this user write there',
      cause,
    });
  }
  return `${path} can be written to`;
}

async function checkSourceHeader(config: Config): Promise<string> {
  const paths = await findFiles(config.source.path);
  const files = await Promise.all(paths.map((path) => inspectFile(path, config.source)));
  for (const { columns, dialect } of files) {
    checkColumns({ columns, files: [{ dialect }] }, config);
  }
  const { columns, dialect } = files[0]!;
  return `${paths.join(', ')}: ${columns.length} columns, ${dialect.encoding}, delimiter ${JSON.stringify(dialect.delimiter)}`;
}

/** Asks for a folio that does not exist. If the service says so, it has accepted the token. This costs nothing. */
async function checkService(api: PredictionApi, signal: AbortSignal): Promise<string> {
  try {
    await api.track('foliopipe-check', signal, AbortSignal.abort());
  } catch (error) {
    const status = error instanceof RefusedError ? error.facts.status : undefined;
    const isUnknownFolio = error instanceof FolioLostError || status === 400 || status === 422;
    if (!isUnknownFolio) throw error;
  }
  return 'answers and accepts the token';
}
