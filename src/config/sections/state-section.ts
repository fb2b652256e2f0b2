/**
 * The keys of a state in Postgres, with which any machine can continue: its address, the place of its parts, and the
 * local folder.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { DatabaseAddress, isPostgres } from './load-section.js';
import { filePath } from './values.js';

export const stateSchema = z
  .string()
  .refine(isPostgres)
  .describe('an address such as postgres://user@host/database')
  .nullable()
  .default(null);

/** The value of `files` for parts in the database. */
export const IN_DATABASE = 'postgres';

/** The folder of an address such as `file:///mnt/share`; undefined for another text. */
function sharedFolder(text: string): string | undefined {
  if (!URL.canParse(text) || new URL(text).protocol !== 'file:') return undefined;
  try {
    return fileURLToPath(text);
  } catch {
    return undefined;
  }
}

export const filesSchema = z
  .string()
  .refine((text) => text === IN_DATABASE || sharedFolder(text) !== undefined)
  .describe('postgres, or a folder that all machines see, such as file:///mnt/share/foliopipe')
  .default(IN_DATABASE);

export const scratchSchema = filePath.nullable().default(null);

/** Where the state is. */
export interface StatePlace {
  /** The database of the state; null: files in `stateDir`. */
  readonly state: DatabaseAddress | null;
  /** A folder that all machines see; null: parts are where the state is. */
  readonly files: string | null;
  /** The folder of the state; with a state in a database, the folder for what this machine can make again. */
  readonly stateDir: string;
}

/**
 * The keys ready for use.
 * @param origin where the value of `state` comes from.
 */
export function resolveState(
  {
    state,
    files,
    stateDir,
    scratchDir,
  }: {
    readonly state: string | null;
    readonly files: string;
    readonly stateDir: string;
    readonly scratchDir: string | null;
  },
  origin?: string,
): StatePlace {
  if (state === null) return { state: null, files: null, stateDir };
  return {
    state: new DatabaseAddress(state, origin),
    files: sharedFolder(files) ?? null,
    stateDir: scratchDir ?? stateDir,
  };
}

/**
 * The folder on this machine for copies of files of the state: `stateDir` itself, if the state is there. Copies from two
 * databases are never in the same folder.
 */
export function copiesFolder({ state, stateDir }: Pick<StatePlace, 'state' | 'stateDir'>): string {
  if (state === null) return stateDir;
  const key = createHash('sha256').update(String(state)).digest('hex').slice(0, 16);
  return join(stateDir, 'shared', key);
}
