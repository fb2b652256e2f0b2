/** What an uploaded file is called, so that a person, or a later adoption, can recognise it at the service. */
import type { FolioReport } from '../../api/prediction-api.js';
import type { AttemptFileName } from '../../checkpoint/checkpoint.js';
import type { RunContext } from '../../run-context.js';
import { oneLine } from '../../text.js';
import type { Chunk } from '../../types.js';

export interface UploadNames {
  /** `<pipeline>-<run>-<chunk>-<attempt>-<hash8>.csv`, the attempt's number left to the checkpoint. */
  readonly fileName: AttemptFileName;
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
    fileName: { before: `${pipeline}-${run.id}-${chunk.number}-`, after: `-${hash}.csv` },
    description: run.config.upload.description.replace(
      /\{(\w+)\}/g,
      (whole, name: string) => values[name] ?? whole,
    ),
  };
}

// Whose file a folio is, read out of the names that its upload has given it; the other way round of upload-names.

/** What stands in a name, where it can be read. */
export interface ReadNames {
  readonly run?: string | undefined;
  readonly chunk?: number | undefined;
  readonly hash?: string | undefined;
}

/**
 * `same`: the file of this chunk. `other`: another one, and whose, where that can be read. `unknown`: the service
 * tells nothing by which chunks differ.
 */
export type Recognised =
  | { readonly is: 'same' }
  | { readonly is: 'unknown' }
  | { readonly is: 'other'; readonly named: ReadNames | undefined };

const run = '\\d{8}T\\d{6}-[0-9a-f]{6}';
const hash = '[0-9a-f]{8}';
/** Anywhere in the told name: a service may put a folder or a number of its own before it. */
const fileName = new RegExp(`(?<run>${run})-(?<chunk>\\d{1,9})-\\d{1,9}-(?<hash>${hash})`);

/**
 * The file name decides: it holds run, chunk and hash, whatever attempt it was. A service that gives files names of
 * its own is believed by the description, where its template holds the chunk or its hash.
 * @param told as the service wrote them (interface, 2.1).
 */
export function recogniseUpload(
  { id, config }: Pick<RunContext, 'id' | 'config'>,
  { number, sha256 }: Pick<Chunk, 'number' | 'sha256'>,
  told: Pick<FolioReport, 'fileName' | 'description'>,
): Recognised {
  const template = config.upload.description;
  const byName = readNames(fileName, told.fileName);
  const byDescription = readNames(describedBy(template, config.pipeline), told.description);
  const isOther = (names: ReadNames | undefined) =>
    names !== undefined &&
    ((names.run ?? id) !== id ||
      (names.chunk ?? number) !== number ||
      (names.hash ?? sha256.slice(0, 8)) !== sha256.slice(0, 8));

  if (isOther(byName)) return { is: 'other', named: byName };
  if (isOther(byDescription)) return { is: 'other', named: byDescription };
  const tellsChunks = /\{(?:chunk|hash)\}/.test(template);
  if (byName !== undefined || isExact(byDescription)) return { is: 'same' };
  const { fileName: name, description } = told;
  const isForeign = name !== null || (tellsChunks && description !== null);
  if (isForeign && byDescription === undefined) return { is: 'other', named: undefined };
  return { is: 'unknown' };
}

/** A number alone may be another run's. */
function isExact(names: ReadNames | undefined): boolean {
  return names?.hash !== undefined || (names?.run !== undefined && names.chunk !== undefined);
}

function readNames(pattern: RegExp, text: string | null): ReadNames | undefined {
  if (text === null) return undefined;
  const match = pattern.exec(oneLine(text));
  if (match === null) return undefined;
  const { run: id, chunk, hash: digits } = match.groups ?? {};
  return { run: id, chunk: chunk === undefined ? undefined : Number(chunk), hash: digits };
}

/** Matches every description that the template gives in this pipeline. A name that stands twice is read once. */
function describedBy(template: string, pipeline: string): RegExp {
  const seen = new Set<string>();
  const pattern = oneLine(template)
    .split(/(\{\w+\})/)
    .map((piece) => {
      if (piece === '{pipeline}') return escapeForPattern(pipeline);
      const form = placeholders[piece];
      if (form === undefined) return escapeForPattern(piece);
      const name = piece.slice(1, -1);
      if (seen.has(name)) return `\\k<${name}>`;
      seen.add(name);
      return `(?<${name}>${form})`;
    });
  return new RegExp(`^${pattern.join('')}$`);
}

const placeholders: Readonly<Record<string, string>> = {
  '{run}': run,
  '{chunk}': '\\d{1,9}',
  '{hash}': hash,
};

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
