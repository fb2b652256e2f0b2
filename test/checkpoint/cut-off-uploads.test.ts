import { expect, it } from 'vitest';
import { withCutOffUploads } from '../../src/checkpoint/cut-off-uploads.js';
import { addChunk, beginUpload } from '../helpers/checkpoint/advance-chunk.js';
import { sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

it('shows the uploads of a dead process as the next run records them, and records nothing', async () => {
  const checkpoint = createMemoryCheckpoint();
  await checkpoint.recordRun(sampleRun('r1'));
  for (const [index, state] of (
    ['uploading', 'submitted', 'uploading', 'ambiguous', 'cut', 'ambiguous'] as const
  ).entries()) {
    await addChunk(checkpoint, 'r1', index + 1, state);
  }
  await beginUpload(checkpoint, 'r1', 4);
  const readAll = async (reader: typeof checkpoint) => ({
    tally: await reader.tally('r1'),
    ambiguous: await reader.chunksIn('r1', ['cut', 'ambiguous'], 0, 10),
    uploading: await reader.chunksIn('r1', ['uploading'], 0, 10),
    page: await reader.chunksIn('r1', ['ambiguous'], 1, 2),
    attempts: [await reader.attempts('r1', 1), await reader.attempts('r1', 4)],
  });
  const before = await readAll(checkpoint);
  const shown = await readAll({ ...checkpoint, ...withCutOffUploads(checkpoint) });
  expect(await readAll(checkpoint)).toEqual(before);
  expect(shown.tally).toMatchObject({
    chunks: { uploading: 0, ambiguous: 4 },
    uploads: { ambiguous: 5, resubmitted: 1 },
  });
  await checkpoint.recordInterrupted('r1');
  expect(shown).toEqual(await readAll(checkpoint));
});

it('counts an upload that was cut off behind one that was accepted late', async () => {
  const checkpoint = createMemoryCheckpoint();
  await checkpoint.recordRun(sampleRun('r1'));
  await addChunk(checkpoint, 'r1', 1, 'uploading');
  const [cutOff] = await checkpoint.attempts('r1', 1);
  const attempts = async () => [
    { ...cutOff!, state: 'accepted' as const },
    { ...cutOff!, attempt: 2 },
  ];
  const { uploads } = await withCutOffUploads({ ...checkpoint, attempts }).tally('r1');
  expect(uploads).toMatchObject({ ambiguous: 1, resubmitted: 1 });
});
