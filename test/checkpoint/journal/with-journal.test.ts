/** A paid request is sent only when it is in the journal too; what is paid already is kept in any case. */
import { describe, expect, it } from 'vitest';
import type { JournalLine, SearchJournalLine } from '../../../src/checkpoint/journal/journal-line.js';
import type { RunJournals } from '../../../src/checkpoint/journal/run-journals.js';
import { withJournal } from '../../../src/checkpoint/journal/with-journal.js';
import { TroubleError } from '../../../src/errors.js';
import { addChunk, beginUpload, sampleReply } from '../../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, sampleRun } from '../../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';

/** A journal on a disk that may be full. */
function openCheckpoint() {
  const disk = { isFull: false };
  const written: string[] = [];
  const add = (line: JournalLine | SearchJournalLine) => void written.push(line.type);
  const full = new TroubleError('DISK_FULL', 'no space left', { hint: 'make room' });
  const journals: RunJournals = {
    append: (_, line) => add(line),
    appendDurably: async (_, line) => {
      if (disk.isFull) throw full;
      add(line);
    },
    appendSearchDurably: async (line) => {
      if (disk.isFull) throw full;
      add(line);
    },
    verify: () => 'whole',
    rewrite: () => undefined,
    close: async () => undefined,
  };
  return { checkpoint: withJournal(createMemoryCheckpoint(), journals), disk, written };
}

describe('a checkpoint with a journal that cannot be written', () => {
  it('begins no upload: the intent is taken back, and the budget has its records again', async () => {
    const { checkpoint, disk } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    disk.isFull = true;
    const error = await beginUpload(checkpoint, 'r1', 1, 5, sampleBudget({})).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'DISK_FULL', exitCode: 5 });
    expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut', attempt: 1 });
    expect(await checkpoint.uploads('r1', 0, 9)).toMatchObject([{ attempt: 1, state: 'dropped' }]);
    expect((await checkpoint.spending('nightly', 'r1', sampleBudget({}).day)).run).toBe(0);
    disk.isFull = false;
    expect(await beginUpload(checkpoint, 'r1', 1, 6, sampleBudget({}))).toMatchObject({ attempt: 2 });
  });

  it('asks no search', async () => {
    const { checkpoint, disk } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    disk.isFull = true;
    await expect(checkpoint.recordSearchIntent('r1', 3, 5, sampleBudget({}))).rejects.toMatchObject({
      code: 'DISK_FULL',
    });
    expect(await checkpoint.searches('r1', 0, 9)).toMatchObject([{ record: 3, state: 'dropped' }]);
  });

  it('asks no search of no run, and gives its record back to the budget', async () => {
    const { checkpoint, disk, written } = openCheckpoint();
    const search = { id: 's1', pipeline: 'nightly', service: 's', startedAt: 5 };
    disk.isFull = true;
    const begun = checkpoint.recordSingleSearchIntent(search, sampleBudget({}));
    await expect(begun).rejects.toMatchObject({ code: 'DISK_FULL' });
    expect(await checkpoint.singleSearches(undefined, '', 9)).toMatchObject([{ state: 'dropped' }]);
    expect((await checkpoint.spending('nightly', null, sampleBudget({}).day)).day).toBe(0);
    disk.isFull = false;
    await checkpoint.recordSingleSearchIntent({ ...search, id: 's2' }, sampleBudget({}));
    disk.isFull = true;
    // The answer is paid for.
    await checkpoint.recordSingleSearchEnd('s2', { state: 'answered', local: false });
    expect(await checkpoint.singleSearches(undefined, 's1', 9)).toMatchObject([{ state: 'answered' }]);
    expect(written).toEqual(['single-search']);
  });

  it('keeps what was answered: that is paid for', async () => {
    const { checkpoint, disk } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'uploading');
    disk.isFull = true;
    await checkpoint.recordAccepted('r1', 1, sampleReply(1), 7);
    expect(await checkpoint.chunk('r1', 1)).toMatchObject({
      state: 'submitted',
      folio: sampleReply(1).folio,
    });
  });
});

describe('a checkpoint with a journal', () => {
  it('writes no line for a change that is refused', async () => {
    const { checkpoint, written } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    const before = written.length;
    const refused = { name: 'CheckpointStateError' };
    await expect(checkpoint.recordAccepted('r1', 1, sampleReply(1), 7)).rejects.toMatchObject(refused);
    await expect(checkpoint.recordRefused('r1', 1, 'no')).rejects.toMatchObject(refused);
    expect(written.length).toBe(before);
  });
});
