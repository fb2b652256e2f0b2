/** Calls that the checkpoint must refuse, leaving everything as it was. */
import { expect } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { CheckpointStateError } from '../../src/checkpoint/checkpoint-errors.js';
import { ALL_STATES } from '../helpers/checkpoint/walk-target.js';

type Call = () => Promise<unknown>;

/** Every call fails with `CheckpointStateError`, and the run is the same after it. */
export async function expectRefused(
  checkpoint: Checkpoint,
  run: string,
  ...calls: readonly Call[]
): Promise<void> {
  await expectEachRefused(checkpoint, run, Object.fromEntries(calls.map((call, at) => [at + 1, call])));
}

/** The same, of calls with names. */
export async function expectEachRefused(
  checkpoint: Checkpoint,
  run: string,
  calls: Readonly<Record<string, Call>>,
): Promise<void> {
  const before = await stateOf(checkpoint, run);
  for (const [name, call] of Object.entries(calls)) {
    await expect(call(), `call: ${name}`).rejects.toThrow(CheckpointStateError);
    expect(await stateOf(checkpoint, run), `after the call: ${name}`).toEqual(before);
  }
}

/** All that is kept of a run. */
export async function stateOf(checkpoint: Checkpoint, run: string): Promise<unknown> {
  const chunks = await checkpoint.chunksIn(run, ALL_STATES, 0, 1000);
  return {
    run: await checkpoint.run(run),
    chunks,
    picked: await Promise.all(chunks.map(({ number }) => checkpoint.pickedRecords(run, number))),
    listed: await Promise.all(chunks.map(({ number }) => checkpoint.listedParts(run, number))),
    stored: await Promise.all(chunks.map(({ number }) => checkpoint.parts(run, number))),
    uploads: await checkpoint.uploads(run, 0, 1000),
    searches: await checkpoint.searches(run, 0, 1000),
    tally: await checkpoint.tally(run),
    spending: await checkpoint.spending('nightly', run, '2026-11-21'),
  };
}
