/**
 * The secret of the store, from which the keys of the hashes come: whoever can plant a record must not be able to make
 * one whose hash is that of another record. Invariant: it is made once and never replaced, as long as it can be used.
 */
import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HASH_KEY_BYTES } from '../csv/kernel/hash-kernel.js';
import { ConfigError } from '../errors.js';
import { makeFolder } from '../make-folder.js';
import { syncFolder, writeFileAtomically } from '../streams/atomic-file.js';
import { codeOf, ignoreMissing, namesIn } from '../streams/system-error.js';

const SECRET_BYTES = 32;
/** The version of what is hashed, and how: another version never finds the hashes of this one. */
const VERSION = 'foliopipe reuse 1';

/**
 * Reads the secret; makes it on first use.
 * @param mustExist whether there are answers that were stored with it.
 * @throws ConfigError `REUSE_SECRET_LOST`.
 */
export async function openSecret(folder: string, mustExist: boolean): Promise<Buffer> {
  const path = join(folder, 'secret');
  const found = readSecret(path) ?? (await makeSecret(folder, path, mustExist));
  if (found.length !== SECRET_BYTES) throw secretLost(path, `has ${found.length} bytes, not ${SECRET_BYTES}`);
  return found;
}

/** The key for the hashes of these columns, and a text that shows whether two keys are the same. */
export interface HashKey {
  readonly bytes: Buffer;
  readonly fingerprint: string;
}

/** @param sentColumns in the order in which they are sent. */
export function deriveKey(secret: Buffer, sentColumns: readonly string[]): HashKey {
  const derive = (use: string) =>
    createHmac('sha256', secret)
      .update(JSON.stringify([VERSION, use, ...sentColumns]))
      .digest();
  return {
    bytes: derive('key').subarray(0, HASH_KEY_BYTES),
    fingerprint: derive('fingerprint').toString('hex', 0, 8),
  };
}

/** The error for a secret that is missing, or is not the one that was used. */
export function secretLost(path: string, what: string): ConfigError {
  return new ConfigError('REUSE_SECRET_LOST', `${path}: the secret of the stored answers ${what}`, {
    facts: { file: path },
  });
}

/** Whether there is a damaged secret, which finds no answers. */
export function isSecretDamaged(folder: string): boolean {
  const found = readSecret(join(folder, 'secret'));
  return found !== undefined && found.length !== SECRET_BYTES;
}

/** Writes a new secret to a path where there is none. */
export async function writeSecret(path: string): Promise<void> {
  await writeFileAtomically(path, 0o600, (file) => writeFileSync(file, randomBytes(SECRET_BYTES)));
}

function readSecret(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    return ignoreMissing(error);
  }
}

/** Several processes may do this at once: all take the first one's secret. */
async function makeSecret(folder: string, path: string, mustExist: boolean): Promise<Buffer> {
  if (mustExist || hasSegments(folder)) throw secretLost(path, 'is missing');
  makeFolder(folder, 0o700);
  const own = join(folder, `secret-${randomUUID()}`);
  await writeSecret(own);
  try {
    linkSync(own, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
  await syncFolder(folder);
  return readFileSync(path);
}

function hasSegments(folder: string): boolean {
  return namesIn(join(folder, 'segments')).some((name) => name.endsWith('.seg'));
}
