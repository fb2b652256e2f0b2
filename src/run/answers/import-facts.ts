/**
 * What the files beside an output say of it: when it was paid for, by which service, and whether that was a local one.
 */
import { existsSync, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../../config/schema.js';
import { besidePath, placeOfPart } from '../../config/sections/output-names.js';
import { ConfigError } from '../../errors.js';
import { isFileMissing } from '../../streams/system-error.js';
import { serviceNames } from '../configured-service.js';

/** Where the time comes from: the caller, the manifest, or the file's last change. */
type PaidFrom = 'given' | 'manifest' | 'file';

export interface ImportFacts {
  /** When the answers were paid for, if their rows do not say; epoch milliseconds. */
  readonly paidAt: number;
  readonly paidFrom: PaidFrom;
  /** Rows whose answers the file's own run had reused, as its manifest says: they were paid for before `paidAt`. */
  readonly reusedRows: number;
}

interface Manifest {
  readonly status?: string;
  readonly service?: string;
  readonly times?: { readonly began?: string };
  readonly output?: { readonly sha256?: string };
  readonly origins?: { readonly reused?: { readonly records?: number } };
}

/**
 * @param file with its hash: the time of a manifest that describes another file is not used.
 * @param given when the answers were paid for, epoch milliseconds; undefined if that was not given.
 * @throws ConfigError `IMPORT_REHEARSAL` when a local service gave the answers and the config names another;
 *   `IMPORT_OTHER_SERVICE` when another service gave them.
 */
export async function importFacts(
  file: { readonly path: string; readonly sha256: string },
  config: Config,
  given: number | undefined,
): Promise<ImportFacts> {
  const { path } = file;
  const place = placeOfPart(path);
  const manifest = readManifest(besidePath(place, 'manifest.json'));
  const isRehearsal = manifest?.status === 'REHEARSAL' || existsSync(besidePath(place, '_REHEARSAL'));
  if (isRehearsal && !config.service.embedded) {
    throw new ConfigError('IMPORT_REHEARSAL', `${path} holds answers of a local service`, {
      hint: 'import the output of a run with the real service; answers of a rehearsal are never taken for it',
      facts: { file: path },
    });
  }
  const services = serviceNames(config);
  const service = manifest?.service;
  if (service !== undefined && !isRehearsal && !services.includes(service)) {
    throw new ConfigError('IMPORT_OTHER_SERVICE', `${path}: these answers are of ${service}`, {
      hint: `the config names ${services[0]}; if it is the same service, give both the same service.name, or copy the file without its manifest`,
      facts: { file: path, service },
    });
  }
  if (given !== undefined) return { paidAt: given, paidFrom: 'given', reusedRows: 0 };
  const began =
    manifest?.output?.sha256 === file.sha256 ? Date.parse(manifest.times?.began ?? '') : Number.NaN;
  if (Number.isNaN(began)) {
    return { paidAt: Math.floor((await stat(path)).mtimeMs), paidFrom: 'file', reusedRows: 0 };
  }
  return { paidAt: began, paidFrom: 'manifest', reusedRows: manifest?.origins?.reused?.records ?? 0 };
}

/** @throws ConfigError `IMPORT_MANIFEST` when there is one that cannot be read. */
function readManifest(path: string): Manifest | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Manifest;
  } catch (cause) {
    if (isFileMissing(cause)) return undefined;
    throw new ConfigError('IMPORT_MANIFEST', `${path}: the manifest cannot be read`, {
      hint: 'restore it, or copy the file without it to another folder and import that, with --paid-at',
      facts: { file: path },
      cause,
    });
  }
}
