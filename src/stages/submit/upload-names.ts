/** Names an uploaded file, and recognizes the file at the service by these names. */
import type { FolioReport } from '../../api/prediction-api.js';
import type { AttemptFileName } from '../../checkpoint/checkpoint.js';
import { RUN_ID } from '../../config/sections/output-names.js';
import type { RunContext } from '../../run-context.js';
import { oneLine } from '../../text.js';
import type { Chunk } from '../../types.js';

interface UploadNames {
  /** `<pipeline>-<run>-<chunk>-<attempt>-<hash8>.csv`; the checkpoint inserts the number of the attempt. */
  readonly fileName: AttemptFileName;
  /** The template `upload.description`, with its placeholders filled in. */
  readonly description: string;
}

/** The file name and the description of an upload, by which it is recognized at the service. */
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

/** The run, chunk and hash that a name or description at the service contains, as far as they can be read. */
export interface ParsedNames {
  readonly run?: string | undefined;
  readonly chunk?: number | undefined;
  readonly hash?: string | undefined;
}

/**
 * `same`: the file of this chunk. `other`: another file, with its names if they can be read. `unknown`: the names at
 * the service do not tell chunks apart.
 */
type Recognised =
  | { readonly is: 'same' }
  | { readonly is: 'unknown' }
  | { readonly is: 'other'; readonly named: ParsedNames | undefined };

/**
 * Says whether a folio belongs to this chunk's file, from any attempt. The file name decides, because it contains run,
 * chunk and hash. If the service renames files, the description decides, provided that its template contains the chunk
 * or its hash.
 * @param found the names that the service gives (interface, 2.1).
 */
export function recogniseUpload(
  { id, config }: Pick<RunContext, 'id' | 'config'>,
  { number, sha256 }: Pick<Chunk, 'number' | 'sha256'>,
  found: Pick<FolioReport, 'fileName' | 'description'>,
): Recognised {
  const template = config.upload.description;
  const byName = parseNames(fileNamePattern, found.fileName);
  const byDescription = parseNames(descriptionPattern(template, config.pipeline), found.description);
  const isOther = (names: ParsedNames | undefined) =>
    names !== undefined &&
    ((names.run ?? id) !== id ||
      (names.chunk ?? number) !== number ||
      (names.hash ?? sha256.slice(0, 8)) !== sha256.slice(0, 8));

  if (isOther(byName)) return { is: 'other', named: byName };
  if (isOther(byDescription)) return { is: 'other', named: byDescription };
  const namesChunk = /\{(?:chunk|hash)\}/.test(template);
  if (byName !== undefined || isExact(byDescription)) return { is: 'same' };
  const isForeign = found.fileName !== null || (namesChunk && found.description !== null);
  if (isForeign && byDescription === undefined) return { is: 'other', named: undefined };
  return { is: 'unknown' };
}

/** The number of the attempt, from the name that the service gives for a chunk's file. */
export function attemptIn(fileName: string | null): number | undefined {
  const attempt = fileNamePattern.exec(oneLine(fileName ?? ''))?.groups?.attempt;
  return attempt === undefined ? undefined : Number(attempt);
}

/** Whether the names identify one chunk: a chunk's number alone may belong to another run. */
function isExact(names: ParsedNames | undefined): boolean {
  return names?.hash !== undefined || (names?.run !== undefined && names.chunk !== undefined);
}

/** Reads a text as one line, because services trim texts and fold white space. */
function parseNames(pattern: RegExp, text: string | null): ParsedNames | undefined {
  if (text === null) return undefined;
  const match = pattern.exec(oneLine(text));
  if (match === null) return undefined;
  const { run, chunk, hash } = match.groups ?? {};
  return { run, chunk: chunk === undefined ? undefined : Number(chunk), hash };
}

/** Matches every description that the template produces in this pipeline. A placeholder may occur twice. */
function descriptionPattern(template: string, pipeline: string): RegExp {
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

function escapeForPattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

const chunkPattern = '\\d{1,9}';
const hashPattern = '[0-9a-f]{8}';

/** Matches anywhere in the name, because a service may put a folder or a number before it. */
const fileNamePattern = new RegExp(
  `(?<run>${RUN_ID})-(?<chunk>${chunkPattern})-(?<attempt>\\d{1,9})-(?<hash>${hashPattern})`,
);

const placeholders: Readonly<Record<string, string>> = {
  '{run}': RUN_ID,
  '{chunk}': chunkPattern,
  '{hash}': hashPattern,
};
