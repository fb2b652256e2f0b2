/** A paid request is sent only when it is in the journal too; what is paid already is kept in any case. */
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import { OnlyInJournalError } from '../../../src/checkpoint/checkpoint-errors.js';
import type { Reserve } from '../../../src/checkpoint/journal/disk-reserve.js';
import type { JournalLine, SearchJournalLine } from '../../../src/checkpoint/journal/journal-line.js';
import type { RunJournals } from '../../../src/checkpoint/journal/run-journals.js';
import { withJournal } from '../../../src/checkpoint/journal/with-journal.js';
import { TroubleError } from '../../../src/errors.js';
import { addChunk, beginUpload, sampleReply } from '../../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, sampleRun } from '../../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';

const full = new TroubleError('DISK_FULL', 'no space left', { hint: 'make room' });

/** A journal on a disk that may be full. */
function openCheckpoint() {
  const disk = { isFull: false, hasRoomForDatabase: true, isDatabaseReadable: true, hasReserve: false };
  const written: string[] = [];
  const lines: JournalLine[] = [];
  const add = (line: JournalLine | SearchJournalLine) => {
    written.push(line.type);
    lines.push(line as JournalLine);
  };
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
    lines: () => lines,
    rewrite: () => undefined,
    close: async () => undefined,
  };
  const reserve: Reserve = {
    begin: (_, work) => work(),
    end: (_, work) =>
      work().catch((error: unknown) => {
        if (!disk.hasReserve) throw error;
        disk.hasRoomForDatabase = true;
        return work();
      }),
    free: () => undefined,
    close: () => undefined,
  };
  const database = createMemoryCheckpoint();
  const recordAccepted: Checkpoint['recordAccepted'] = async (...args) => {
    if (!disk.hasRoomForDatabase) throw full;
    return database.recordAccepted(...args);
  };
  const recordDropped: Checkpoint['recordDropped'] = async (...args) => {
    if (!disk.hasRoomForDatabase) throw full;
    return database.recordDropped(...args);
  };
  const recordSearchEnd: Checkpoint['recordSearchEnd'] = async (...args) => {
    if (!disk.hasRoomForDatabase) throw full;
    return database.recordSearchEnd(...args);
  };
  const chunk: Checkpoint['chunk'] = async (...args) => {
    if (!disk.isDatabaseReadable) throw new TroubleError('CHECKPOINT_IO', 'the disk failed');
    return database.chunk(...args);
  };
  const onDisk = { ...database, recordAccepted, recordDropped, recordSearchEnd, chunk };
  const checkpoint = withJournal(onDisk, journals, reserve);
  return { checkpoint, database, disk, written };
}

describe('a reply that the database cannot record', () => {
  it('is in the journal, from which the next start takes it up', async () => {
    const { checkpoint, database, disk, written } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    await beginUpload(checkpoint, 'r1', 1, 5, sampleBudget({}));
    disk.hasRoomForDatabase = false;
    const refused = checkpoint.recordAccepted('r1', 1, sampleReply(1), 7);
    await expect(refused).rejects.toThrow(OnlyInJournalError);
    await expect(refused).rejects.toMatchObject({ cause: full });
    expect(written.at(-1)).toBe('accepted');
    expect(await database.chunk('r1', 1)).toMatchObject({ state: 'uploading', folio: null });

    disk.hasRoomForDatabase = true;
    await checkpoint.verifyPaid('r1');
    expect(await database.chunk('r1', 1)).toMatchObject({ state: 'submitted', folio: 'folio-1' });
    expect(await database.uploads('r1', 0, 9)).toMatchObject([{ state: 'accepted', endedAt: 7 }]);
    expect(await checkpoint.recordInterrupted('r1')).toBe(0);
  });

  it('is in the journal also if the database cannot even be read', async () => {
    const { checkpoint, disk, written, database } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    await beginUpload(checkpoint, 'r1', 1, 5, sampleBudget({}));
    disk.hasRoomForDatabase = false;
    disk.isDatabaseReadable = false;
    await expect(checkpoint.recordAccepted('r1', 1, sampleReply(1), 7)).rejects.toThrow(OnlyInJournalError);
    expect(written.at(-1)).toBe('accepted');

    Object.assign(disk, { hasRoomForDatabase: true, isDatabaseReadable: true });
    await checkpoint.verifyPaid('r1');
    expect(await database.chunk('r1', 1)).toMatchObject({ state: 'submitted', folio: 'folio-1' });
  });

  it('is told as it is if the journal cannot be written either', async () => {
    const { checkpoint, disk } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    await beginUpload(checkpoint, 'r1', 1, 5, sampleBudget({}));
    disk.isFull = true;
    disk.hasRoomForDatabase = false;
    await expect(checkpoint.recordAccepted('r1', 1, sampleReply(1), 7)).rejects.toBe(full);
  });
});

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

  it('takes the intent back with the room that is kept for the reply', async () => {
    const { checkpoint, disk } = openCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    Object.assign(disk, { isFull: true, hasRoomForDatabase: false, hasReserve: true });
    await expect(beginUpload(checkpoint, 'r1', 1, 5, sampleBudget({}))).rejects.toBe(full);
    expect(await checkpoint.chunk('r1', 1)).toMatchObject({ state: 'cut', attempt: 1 });
    disk.hasRoomForDatabase = false;
    await expect(checkpoint.recordSearchIntent('r1', 3, 5, sampleBudget({}))).rejects.toBe(full);
    expect(await checkpoint.searches('r1', 0, 9)).toMatchObject([{ record: 3, state: 'dropped' }]);
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

describe('whoever waits for a change', () => {
  const budget = sampleBudget({});
  const search = { id: 's1', pipeline: 'nightly', service: 's', startedAt: 5 };

  /** A database and a journal that take their time. `done` has what each of them has finished. */
  function openSlowly() {
    const done: string[] = [];
    const isFull = { journal: false, database: false };
    const database = createMemoryCheckpoint();
    const slow = Object.fromEntries(
      Object.entries(database).map(([name, method]) => [
        name,
        async (...args: never[]) => {
          await setImmediate();
          if (isFull.database && name.startsWith('record')) throw full;
          const result: unknown = await (method as (...given: never[]) => unknown)(...args);
          if (name.startsWith('record')) done.push(name);
          return result;
        },
      ]),
    ) as unknown as typeof database;
    const lines: JournalLine[] = [];
    const appendDurably = async (line: JournalLine | SearchJournalLine) => {
      await setImmediate();
      if (isFull.journal) throw full;
      done.push(line.type);
      lines.push(line as JournalLine);
    };
    const journals: RunJournals = {
      append: (_, line) => void done.push(line.type),
      appendDurably: (_, line) => appendDurably(line),
      appendSearchDurably: appendDurably,
      verify: () => {
        done.push('verify');
        return 'whole';
      },
      lines: () => lines,
      rewrite: () => void done.push('rewrite'),
      close: async () => undefined,
    };
    const reserve: Reserve = {
      begin: (_, work) => work(),
      end: (_, work) => work(),
      free: () => undefined,
      close: () => undefined,
    };
    const checkpoint = withJournal(slow, journals, reserve);
    const since = async (work: () => Promise<unknown>) => {
      done.length = 0;
      await work().catch((error: unknown) => expect(error).toBe(full));
      return [...done];
    };
    return { checkpoint, isFull, since };
  }

  it('has it in the database, and after that in the journal', async () => {
    const { checkpoint, since } = openSlowly();
    expect(await since(() => checkpoint.recordRun(sampleRun('r1')))).toEqual(['recordRun', 'rewrite']);
    await addChunk(checkpoint, 'r1', 1, 'cut');
    expect(await since(() => beginUpload(checkpoint, 'r1', 1, 5, budget))).toEqual([
      'recordIntent',
      'intent',
    ]);
    expect(await since(() => checkpoint.recordAccepted('r1', 1, sampleReply(1), 7))).toEqual([
      'recordAccepted',
      'accepted',
    ]);
    expect(await since(() => checkpoint.recordSearchIntent('r1', 3, 5, budget))).toEqual([
      'recordSearchIntent',
      'search',
    ]);
    expect(await since(() => checkpoint.recordSearchEnd('r1', 3, { state: 'dropped' }))).toEqual([
      'recordSearchEnd',
      'searched',
    ]);
    expect(await since(() => checkpoint.recordSingleSearchIntent(search, budget))).toEqual([
      'recordSingleSearchIntent',
      'single-search',
    ]);
    expect(await since(() => checkpoint.recordSingleSearchEnd('s1', { state: 'dropped' }))).toEqual([
      'recordSingleSearchEnd',
      'single-searched',
    ]);
    await checkpoint.recordSuperseded('r1', 8);
    expect(await since(() => checkpoint.recordPruned('r1', 9))).toEqual(['recordPruned', 'rewrite']);
  });

  it('has the intent taken back where the journal is full', async () => {
    const { checkpoint, isFull, since } = openSlowly();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'cut');
    isFull.journal = true;
    expect(await since(() => beginUpload(checkpoint, 'r1', 1, 5, budget))).toEqual([
      'recordIntent',
      'recordDropped',
      'dropped',
    ]);
    expect(await since(() => checkpoint.recordSearchIntent('r1', 3, 5, budget))).toEqual([
      'recordSearchIntent',
      'recordSearchEnd',
      'searched',
    ]);
    expect(await since(() => checkpoint.recordSingleSearchIntent(search, budget))).toEqual([
      'recordSingleSearchIntent',
      'recordSingleSearchEnd',
    ]);
  });

  it('has a reply taken up from the journal before both are compared', async () => {
    const { checkpoint, isFull, since } = openSlowly();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'uploading');
    isFull.database = true;
    const refused = checkpoint.recordAccepted('r1', 1, sampleReply(1), 7);
    await expect(refused).rejects.toThrow(OnlyInJournalError);
    isFull.database = false;
    expect(await since(() => checkpoint.verifyPaid('r1'))).toEqual(['recordAccepted', 'verify']);
  });
});
