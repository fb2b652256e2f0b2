/** What an uploaded file is called, so that a person, or a later adoption, can recognise it at the service. */
import type { RunContext } from '../run-context.js';
import type { Chunk } from '../types.js';

export interface UploadNames {
  /** `<pipeline>-<run>-<chunk>-<attempt>-<hash8>.csv` */
  readonly fileName: (attempt: number) => string;
  /** The configured template, filled in. */
  readonly description: string;
}

export function uploadNames(
  run: Pick<RunContext, 'id' | 'config'>,
  chunk: Pick<Chunk, 'number' | 'sha256'>,
): UploadNames {
  const { pipeline } = run.config;
  const hash = chunk.sha256.slice(0, 8);
  const values: Readonly<Record<string, string>> = {
    pipeline,
    run: run.id,
    chunk: String(chunk.number),
    hash,
  };
  return {
    fileName: (attempt) => `${pipeline}-${run.id}-${chunk.number}-${attempt}-${hash}.csv`,
    description: run.config.upload.description.replace(
      /\{(\w+)\}/g,
      (whole, name: string) => values[name] ?? whole,
    ),
  };
}
