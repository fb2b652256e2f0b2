/** The attempts of one chunk, out of the page of uploads that begins with it. */
import type { CheckpointReader, Upload } from './checkpoint.js';

/** Every attempt to upload the chunk, oldest first; empty before its first one. */
export async function attemptsOf(
  checkpoint: Pick<CheckpointReader, 'uploads'>,
  run: string,
  chunk: number,
): Promise<readonly Upload[]> {
  const page = await checkpoint.uploads(run, chunk - 1, 1);
  return page.filter((upload) => upload.chunk === chunk);
}
