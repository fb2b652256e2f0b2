/** Contract: a change of a chunk leaves the other chunks of its run, and those of other runs, as they are. */
import { expect, it } from 'vitest';
import type { Checkpoint, ChunkState } from '../../src/checkpoint/checkpoint.js';
import { addAs, beginUpload, sampleReply } from '../helpers/checkpoint/advance-chunk.js';
import { sampleChunk, sampleHalves, samplePart, sampleRun } from '../helpers/checkpoint/samples.js';
import type { WithCheckpoint } from './checkpoint-contract.js';

type Change = (of: Checkpoint, chunk: number) => Promise<unknown>;

const counts = { successful: 8, failed: 2 };
const listed = [{ fileStatus: 'SUCCESSFUL', part: 0 }] as const;
const storePart: Change = (of, chunk) => of.recordParts('r1', chunk, [samplePart(0)]);

/** Each change, and the state of all chunks before it. */
const changes: readonly (readonly [name: string, before: ChunkState, change: Change])[] = [
  ['an intent', 'cut', (of, chunk) => beginUpload(of, 'r1', chunk)],
  ['a split', 'cut', (of, chunk) => of.recordSplit('r1', chunk, sampleHalves(sampleChunk(chunk)))],
  ['a folio', 'uploading', (of, chunk) => of.recordAccepted('r1', chunk, sampleReply(9), 9)],
  ['a refused upload', 'uploading', (of, chunk) => of.recordDropped('r1', chunk, 9)],
  ['a lost reply', 'uploading', (of, chunk) => of.recordAmbiguous('r1', chunk, 9, 'no-reply')],
  ['an adopted folio', 'ambiguous', (of, chunk) => of.recordAdopted('r1', chunk, sampleReply(9), 9)],
  ['a finished folio', 'submitted', (of, chunk) => of.recordFinished('r1', chunk, counts, listed)],
  ['a part', 'finished', storePart],
  [
    'a download',
    'finished',
    (of, chunk) => storePart(of, chunk).then(() => of.recordDownloaded('r1', chunk)),
  ],
  ['other parts', 'downloaded', (of, chunk) => of.recordRefetched('r1', chunk, counts, [samplePart(1)])],
  ['giving it up', 'submitted', (of, chunk) => of.recordUnprocessed('r1', chunk, 'FOLIO_LOST')],
];

export function neighbourContract(withCheckpoint: WithCheckpoint): void {
  it.each(changes)('changes one chunk only: %s', (_, before, change) =>
    withCheckpoint(async (checkpoint) => {
      for (const run of ['r1', 'r2']) {
        await checkpoint.recordRun(sampleRun(run));
        for (const nth of [1, 2, 3]) await addAs(checkpoint, run, sampleChunk(nth), before);
      }
      const others = async () => {
        const facts: unknown[] = [];
        for (const [run, chunk] of [
          ['r1', 1],
          ['r1', 3],
          ['r2', 2],
        ] as const) {
          facts.push(await checkpoint.chunk(run, chunk), await checkpoint.attempts(run, chunk));
          facts.push(await checkpoint.listedParts(run, chunk), await checkpoint.parts(run, chunk));
        }
        return facts;
      };
      const found = [await others(), await checkpoint.chunk('r1', 2), await checkpoint.parts('r1', 2)];
      await change(checkpoint, 2);
      expect(await others()).toEqual(found[0]);
      const left = [await checkpoint.chunk('r1', 2), await checkpoint.parts('r1', 2)];
      expect(left).not.toEqual(found.slice(1));
    }),
  );
}
