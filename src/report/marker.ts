/** The small JSON file that tells a loader that an output is complete; written last of all. */
import { writeFileSync } from 'node:fs';
import type { Checkpoint, Publication } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';
import { writeFileAtomically } from '../streams/atomic-file.js';
import { manifestPath, markerPath } from './paths.js';

export async function writeMarker(
  run: Pick<RunContext, 'id' | 'config'> & { readonly checkpoint: Pick<Checkpoint, 'run'> },
  publication: Publication,
): Promise<void> {
  const { path, mode } = run.config.output;
  const { rehearsal } = (await run.checkpoint.run(run.id))!;
  const marker = {
    run: run.id,
    pipeline: run.config.pipeline,
    publication: publication.number,
    rehearsal,
    exitCode: publication.exitCode,
    output: { bytes: publication.bytes, records: publication.records, sha256: publication.sha256 },
    manifest: manifestPath(path),
  };
  await writeFileAtomically(markerPath(path, rehearsal, publication.exitCode), mode, (file) =>
    writeFileSync(file, `${JSON.stringify(marker)}\n`),
  );
}
