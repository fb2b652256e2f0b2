/**
 * Checks what is in the place of an output on a local disk: a publication can replace only regular files. Changes nothing
 * (rule "Check before paying", docs/architecture.md#check-before-paying).
 */
import type { BigIntStats } from 'node:fs';
import { lstat, readFile, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { ConfigError } from '../errors.js';
import { codeOf, ignoreMissing, isFileMissing } from '../streams/system-error.js';
import { escapeUnprintable } from '../text.js';
import type { OutputNames } from './output-store.js';

/**
 * Checks that each name is free, or names a regular file that nothing else needs.
 * @param sources the paths of the source's files.
 * @param own other files that foliopipe reads or writes; they may be missing.
 * @throws ConfigError `OUTPUT_IS_FOLDER`, `OUTPUT_NOT_A_FILE`, `OUTPUT_IS_SOURCE`, `OUTPUT_IS_OWN_FILE`,
 *   `OUTPUT_NAME_TOO_LONG`.
 */
export async function checkPlace(
  { output, beside, local, lock }: OutputNames,
  sources: readonly string[],
  own: readonly string[] = [],
): Promise<void> {
  const files = new Map<string, string>();
  for (const name of [output, ...beside, ...local, ...lock]) {
    const found = await lookAt(name);
    if (found === undefined) continue;
    if (!found.isFile()) throw await notAFile(name, output, found);
    files.set(identityOf(found), name);
  }
  await refuseMountPoints([...files.values()], output);
  // Inodes are compared, because a folder may be reached by a link, and a disk may not distinguish capitals.
  for (const source of files.size === 0 ? [] : sources) {
    const name = files.get(identityOf(await stat(source, { bigint: true })));
    if (name !== undefined) throw isSource(name, output, source);
  }
  for (const path of files.size === 0 ? [] : own) {
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    const name = found && files.get(identityOf(found));
    if (name !== undefined) throw isOwnFile(name, output, path);
  }
}

/**
 * What is at a path; a link is not followed.
 * @returns undefined if there is nothing.
 * @throws ConfigError `OUTPUT_NAME_TOO_LONG`; the system's error when it cannot be looked at.
 */
export async function lookAt(name: string): Promise<BigIntStats | undefined> {
  try {
    return await lstat(name, { bigint: true });
  } catch (error) {
    if (isFileMissing(error)) return undefined;
    if (codeOf(error) !== 'ENAMETOOLONG') throw error;
    throw nameTooLong(name, error);
  }
}

/** The error for a path that the disk does not take, because it or one of its names has too many bytes. */
export function nameTooLong(path: string, cause: unknown): ConfigError {
  const [longest] = path.split(sep).sort((a, b) => Buffer.byteLength(b) - Buffer.byteLength(a));
  const bytes = Buffer.byteLength(longest!);
  return new ConfigError('OUTPUT_NAME_TOO_LONG', `the disk allows no name of ${bytes} bytes: ${longest}`, {
    hint: 'choose a shorter output.path: foliopipe adds up to 50 bytes to its name for the files beside it',
    facts: { path, bytes },
    cause,
  });
}

function identityOf({ dev, ino }: BigIntStats): string {
  return `${dev}-${ino}`;
}

async function notAFile(name: string, output: string, found: BigIntStats): Promise<ConfigError> {
  const isOutput = name === output;
  const role = isOutput ? 'output.path ' : '';
  const why = isOutput ? '' : `, and the output needs a file of this name`;
  const details = (hint: string) => ({ hint, facts: { path: name, output } });
  if (found.isDirectory()) {
    const hint = isOutput
      ? 'move it away; or name a file in it, for example enriched.csv; or end the path with / for a folder of publications'
      : MOVE_AWAY;
    return new ConfigError('OUTPUT_IS_FOLDER', `${role}${name} is a folder${why}`, details(hint));
  }
  const kind = kindOf(found);
  if (kind !== 'a link') {
    const hint = isOutput ? `output.path must name a file that can be replaced; ${MOVE_AWAY}` : MOVE_AWAY;
    return new ConfigError('OUTPUT_NOT_A_FILE', `${role}${name} is ${kind}${why}`, details(hint));
  }
  const target = escapeUnprintable(await readlink(name));
  const hint = isOutput
    ? `publishing would replace the link: remove it, or write the path of the file itself into output.path`
    : MOVE_AWAY;
  return new ConfigError('OUTPUT_NOT_A_FILE', `${role}${name} is a link (to ${target})${why}`, details(hint));
}

const MOVE_AWAY = 'move it away, then run the same command again';

function kindOf(found: BigIntStats): string {
  if (found.isSymbolicLink()) return 'a link';
  if (found.isFIFO()) return 'a FIFO';
  if (found.isSocket()) return 'a socket';
  return 'a device';
}

function isSource(name: string, output: string, source: string): ConfigError {
  return new ConfigError(
    'OUTPUT_IS_SOURCE',
    `${nameIs(name, output)} the source itself${name === source ? '' : ` (${source})`}`,
    { hint: elsewhere(output), facts: { path: name, source } },
  );
}

function isOwnFile(name: string, output: string, path: string): ConfigError {
  return new ConfigError(
    'OUTPUT_IS_OWN_FILE',
    `${nameIs(name, output)} a file that foliopipe needs itself${name === path ? '' : ` (${path})`}: a config, the token, the log or the state`,
    { hint: elsewhere(output), facts: { path: name, file: path } },
  );
}

function nameIs(name: string, output: string): string {
  return name === output
    ? `output.path ${name} is`
    : `${name}, which a publication of the output replaces or removes, is`;
}

function elsewhere(output: string): string {
  return `write somewhere else, for example ${join(dirname(output), 'out', 'enriched.csv')}`;
}

/** A single file that is mounted, as into a container, can be written but not replaced. Checked on Linux only. */
async function refuseMountPoints(files: readonly string[], output: string): Promise<void> {
  if (files.length === 0) return;
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const mounts = new Set(table.split('\n').map((line) => unescapeMount(line.split(' ')[4] ?? '')));
  for (const name of files) {
    // A run that works on the output makes and removes its files meanwhile.
    const path = await realpath(name).catch(ignoreMissing);
    if (path === undefined || !mounts.has(path)) continue;
    throw new ConfigError('OUTPUT_NOT_A_FILE', `${name} is a mount point, which cannot be replaced`, {
      hint: 'mount its folder in place of the file, and name the file in it',
      facts: { path: name, output },
    });
  }
}

/** The table writes spaces and the like as `\040`. */
function unescapeMount(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}
