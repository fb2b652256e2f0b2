/** Finds the source's files and checks them whole (law 5), unless they carry the stamps of a check before. */
import { realpath, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Run } from '../checkpoint/checkpoint.js';
import type { Config } from '../config/schema.js';
import { ConfigError } from '../errors.js';
import { createOutputLayout } from '../results/output-layout.js';
import { scanSource } from '../source/scan-source.js';
import { fileStamp, findFiles } from '../source/source-files.js';
import { createUploadLayout, maxRecordBytes } from '../stages/chunk/cut-chunks.js';
import type { Source } from '../types.js';
import type { RunOptions } from './run-options.js';

/**
 * The checked source: every record's shape, the configured columns, and that the output can be written.
 * @param known a run whose check may be relied on when files and settings are still the same.
 */
export async function checkSource(
  config: Config,
  options: Pick<RunOptions, 'onScan'> & { readonly signal: AbortSignal },
  known?: Run,
): Promise<Source> {
  const paths = await findFiles(config.source.path);
  await checkOutputPath(config.output.path, paths);
  const source = (await isSame(known?.source, paths)) ? known!.source : await scan(config, options, paths);
  createUploadLayout(source, config.upload);
  createOutputLayout(source, config.output);
  return source;
}

async function scan(
  config: Config,
  options: Pick<RunOptions, 'onScan'> & { readonly signal: AbortSignal },
  paths: readonly string[],
): Promise<Source> {
  const { encoding, delimiter, onBadRecord } = config.source;
  return scanSource({
    paths,
    encoding,
    delimiter,
    onBadRecord,
    maxRecordBytes: maxRecordBytes(config.upload, config.chunks.maxBytes),
    signal: options.signal,
    ...(options.onScan && { onProgress: options.onScan }),
  });
}

async function isSame(known: Source | undefined, paths: readonly string[]): Promise<boolean> {
  if (known === undefined || known.files.length !== paths.length) return false;
  for (const [at, file] of known.files.entries()) {
    if (file.path !== paths[at] || (await fileStamp(file.path)).stamp !== file.stamp) return false;
  }
  return true;
}

async function checkOutputPath(output: string, paths: readonly string[]): Promise<void> {
  const there = await stat(output).catch(() => undefined);
  if (there?.isDirectory()) {
    throw new ConfigError('OUTPUT_IS_FOLDER', `output.path ${output} is a folder`, {
      hint: 'name a file in it, for example enriched.csv',
    });
  }
  const target = there ? await realpath(output) : output;
  for (const path of paths) {
    if (target !== (await realpath(path))) continue;
    throw new ConfigError('OUTPUT_IS_SOURCE', `output.path ${output} is the source itself`, {
      hint: `write somewhere else, for example ${dirname(output)}/out/enriched.csv`,
    });
  }
}
