/** The place of a state that a flag names: a folder, or the address of a database. */
import { resolve } from 'node:path';
import { ConfigError } from '../errors.js';
import { showsPassword } from './flag-settings.js';
import { interpolate } from './interpolate.js';
import { isPostgres } from './sections/load-section.js';
import { filesSchema, resolveState, type StatePlace } from './sections/state-section.js';

/** How the flag of a command names a state. */
export interface PlaceOptions {
  /** The flag, as it is shown in errors. */
  readonly flag: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder to which a relative path belongs. */
  readonly cwd: string;
  /** Where a database keeps files: `postgres`, or `file:///...`. */
  readonly files: string;
  /** The folder for what this machine can make again. */
  readonly scratchDir: string;
}

/**
 * @param text a path, or an address such as `${STATE_URL}`: a password must be in a variable.
 * @throws ConfigError `USAGE`.
 */
export function readStatePlace(text: string, options: PlaceOptions): StatePlace {
  const { flag, env, cwd, files, scratchDir } = options;
  const refuse = (what: string): never => {
    throw new ConfigError('USAGE', `${flag}: ${what}`, {
      hint: `name a folder, or a database by a variable: ${flag} '\${STATE_URL}'`,
    });
  };
  if (showsPassword(text)) refuse('a password in a flag can be read by every user of the machine');
  const place = interpolate(text, env, refuse);
  if (!filesSchema.safeParse(files).success) {
    refuse(`--files takes postgres, or a folder such as file:///mnt/share/foliopipe`);
  }
  if (isPostgres(place)) return resolveState({ state: place, files, stateDir: scratchDir, scratchDir: null });
  if (place.trim() === '' || place.includes('://')) refuse('is neither a folder nor postgres://...');
  return { state: null, files: null, stateDir: resolve(cwd, place) };
}
