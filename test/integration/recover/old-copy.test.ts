/** An old copy of the checkpoint lacks a fact of a run other than an upload: it is refused, and complete after recover. */
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recover } from '../../../pipelines/index.js';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { addChunk } from '../../helpers/checkpoint/advance-chunk.js';
import { samplePublication, sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { loseDatabase } from '../../helpers/state/killed-state.js';

type Change = (checkpoint: Checkpoint) => Promise<unknown>;
interface Forgotten {
  /** Changes before and after the copy is made. */
  readonly before?: Change;
  readonly after: Change;
  readonly told: RegExp;
}

const partial = { ...samplePublication, partial: true };
const publish: Change = async (checkpoint) => {
  await checkpoint.recordPublishing('r1', samplePublication);
  await checkpoint.recordDone('r1', 9);
};

const forgotten: Readonly<Record<string, Forgotten>> = {
  'that two services answered': {
    before: (checkpoint) => checkpoint.recordJoin('r1', { by: 'echo', columns: ['name'], judged: null }),
    after: async (checkpoint) => {
      await checkpoint.recordUnjoined('r1');
      await checkpoint.recordMixed('r1');
    },
    told: /that more than one service has answered/,
  },
  'that it was superseded': {
    after: (checkpoint) => checkpoint.recordSuperseded('r1', 9),
    told: /that it is superseded/,
  },
  'that its results were removed': {
    before: publish,
    after: (checkpoint) => checkpoint.recordPruned('r1', 10),
    told: /that its results were removed/,
  },
  'that it is being published': {
    after: (checkpoint) => checkpoint.recordPublishing('r1', samplePublication),
    told: /publication 1\b/,
  },
  'a partial publication': {
    before: async (checkpoint) => {
      await checkpoint.recordPublishing('r1', partial);
      await checkpoint.recordDone('r1', 9);
    },
    after: async (checkpoint) => {
      await checkpoint.recordPublishing('r1', partial);
      await checkpoint.recordDone('r1', 10);
    },
    told: /publication 2\b/,
  },
  'a withdrawn publication': {
    after: async (checkpoint) => {
      await checkpoint.recordPublishing('r1', samplePublication);
      await checkpoint.recordUnpublished('r1');
    },
    told: /publication 1\b/,
  },
};

describe('an old copy of a checkpoint that lacks', () => {
  it.each(Object.entries(forgotten))('%s', async (_, { before, after, told }) => {
    await withFolder(async (folder) => {
      await within(folder, begin);
      if (before !== undefined) await within(folder, before);
      await copyFile(join(folder, 'checkpoint.db'), join(folder, 'copy'));
      await within(folder, after);
      const facts = factsOf(folder);

      await loseDatabase(folder);
      await copyFile(join(folder, 'copy'), join(folder, 'checkpoint.db'));
      const refused = { code: 'CHECKPOINT_BEHIND', exitCode: 2, message: expect.stringMatching(told) };
      await expect(within(folder, (checkpoint) => checkpoint.verifyPaid('r1'))).rejects.toMatchObject(
        refused,
      );
      expect(await recover({ stateDir: folder, pipeline: 'nightly' })).toMatchObject({
        base: 'whole',
        runs: [{ found: 'rebuilt' }],
      });
      expect(factsOf(folder)).toEqual(facts);
      await within(folder, expectWhole);
    });
  });
});

it('a chunk whose row was removed by hand is refused like one that an old copy lacks, and is back after recover', async () => {
  await withFolder(async (folder) => {
    await within(folder, begin);
    const chunk = () => within(folder, (checkpoint) => checkpoint.chunk('r1', 1));
    const removed = await chunk();
    const db = openSqlite(join(folder, 'checkpoint.db'));
    db.exec('PRAGMA foreign_keys = OFF; DELETE FROM chunks');
    db.close();
    const refused = { code: 'CHECKPOINT_BEHIND', message: expect.stringMatching(/knows 1 upload of/) };
    await expect(within(folder, (checkpoint) => checkpoint.verifyPaid('r1'))).rejects.toMatchObject(refused);
    expect(await recover({ stateDir: folder, pipeline: 'nightly' })).toMatchObject({
      runs: [{ found: 'rebuilt' }],
    });
    expect(await chunk()).toEqual(removed);
    await within(folder, expectWhole);
  });
});

describe('publications', () => {
  /** With the journal as it was written, and as it is written again from the database. */
  it.each([false, true])('keep their numbers after the checkpoint was lost (%s)', async (isRewritten) => {
    await withFolder(async (folder) => {
      await within(folder, begin);
      for (const at of [9, 10]) {
        await within(folder, async (checkpoint) => {
          await checkpoint.recordPublishing('r1', partial);
          await checkpoint.recordDone('r1', at);
        });
      }
      await within(folder, publish);
      const facts = factsOf(folder);
      expect(facts.publications).toMatchObject([{ number: 1 }, { number: 2 }, { number: 3 }]);
      if (isRewritten) {
        await rm(join(folder, 'runs', 'r1', 'paid.log'));
        await within(folder, (checkpoint) => checkpoint.verifyPaid('r1'));
      }

      await loseDatabase(folder);
      await recover({ stateDir: folder, pipeline: 'nightly' });
      expect(factsOf(folder)).toEqual(facts);
      await within(folder, expectWhole);
      await within(folder, async (checkpoint) => {
        await checkpoint.recordReopened('r1');
        const { number } = await checkpoint.recordPublishing('r1', { ...samplePublication, bytes: 7 });
        expect(number).toBe(4);
      });
    });
  });
});

/** A run whose only chunk has a folio. */
async function begin(checkpoint: Checkpoint): Promise<void> {
  await checkpoint.recordRun(sampleRun('r1'));
  await addChunk(checkpoint, 'r1', 1, 'submitted');
  await checkpoint.recordAllCut('r1');
}

async function expectWhole(checkpoint: Checkpoint): Promise<void> {
  expect(await checkpoint.verifyPaid('r1')).toBe('whole');
}

async function within<T>(folder: string, change: (checkpoint: Checkpoint) => Promise<T>): Promise<T> {
  const checkpoint = await openSqliteCheckpoint(folder);
  try {
    return await change(checkpoint);
  } finally {
    await checkpoint.close();
  }
}

function factsOf(folder: string) {
  const database = openSqlite(join(folder, 'checkpoint.db'), { readonly: true });
  const all = (sql: string) => database.prepare<[], Record<string, unknown>>(sql).all();
  const facts = {
    runs: all(
      'SELECT id, state, mixed, rehearsal, join_way, partial IS NULL AS whole, pruned_at, finished_at FROM runs',
    ),
    publications: all('SELECT pipeline, number, run, path, bytes, sha256 FROM publications'),
    uploads: all('SELECT chunk, attempt, state, folio FROM uploads'),
  };
  database.close();
  return facts;
}
