/** Finds outputs that were published after a backup: their manifests have higher numbers than the database. */
import type { CopiedDatabase } from '../../checkpoint/sqlite/copy-database.js';
import { ownerPath } from '../../report/output-owner.js';
import { readBeginning } from '../../streams/read-pieces.js';

/** An output that is newer than the backup. */
export interface NewerOutput {
  readonly path: string;
  readonly pipeline: string;
  /** The number of its publication, and the highest that the backup knows of this pipeline. */
  readonly publication: number;
  readonly known: number;
  /** The run that has published it. */
  readonly run: string;
}

/** The head of a manifest comes first; the list of chunks may be long. */
const HEAD_BYTES = 64 * 1024;

export async function newerOutputs(
  publications: CopiedDatabase['publications'],
): Promise<readonly NewerOutput[]> {
  const highest = new Map<string, number>();
  for (const { pipeline, number } of publications) {
    highest.set(pipeline, Math.max(number, highest.get(pipeline) ?? 0));
  }
  const newer: NewerOutput[] = [];
  for (const { pipeline, path } of publications) {
    // Of a file that cannot be read, nothing is known.
    const head = String(await readBeginning(ownerPath(path), HEAD_BYTES).catch(() => ''));
    const publication = Number(/^ {2}"publication": (\d+),?$/m.exec(head)?.[1] ?? 0);
    const run = /^ {2}"run": "([\w.-]+)",?$/m.exec(head)?.[1];
    const owner = /^ {2}"pipeline": "([\w.-]+)",?$/m.exec(head)?.[1];
    const known = highest.get(pipeline)!;
    if (owner === pipeline && run !== undefined && publication > known) {
      newer.push({ path, pipeline, publication, known, run });
    }
  }
  return newer;
}
