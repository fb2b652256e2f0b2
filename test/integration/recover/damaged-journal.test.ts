/** A journal that is damaged or empty is written again only if the checkpoint surely knows everything that was paid. */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recover } from '../../../pipelines/index.js';
import type { Checkpoint } from '../../../src/checkpoint/checkpoint.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { addChunk, beginUpload, sampleReply } from '../../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, samplePublication, sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { loseDatabase } from '../../helpers/state/killed-state.js';

/** The damaged lines, and how they are damaged. */
type Damage = readonly [line: RegExp, what: string | RegExp, by: string];

/** Damage that a complete checkpoint can account for. */
const accounted: Readonly<Record<string, Damage>> = {
  'the run': [/"type":"run"/, 'service.test', 'serviXe.test'],
  'a chunk that was cut': [/"type":"cut","chunk":2/, '"firstRecord"', '"fXrstRecord"'],
  'an intent': [/"type":"intent","chunk":2/, '"type"', '"tXpe"'],
  'a folio': [/"type":"accepted","chunk":2/, '"type"', '"tXpe"'],
  'a dropped upload': [/"type":"dropped"/, '"attempt"', '"aXtempt"'],
  'a search': [/"type":"search"/, '"type"', '"tXpe"'],
  'the answer to a search': [/"type":"searched"/, '"values"', '"vXlues"'],
  'a publication': [/"type":"publishing"/, '"bytes"', '"bXtes"'],
  'that two services answered': [/"type":"mixed"/, '"crc"', '"cXc"'],
};

/** Damage that it cannot account for. */
const unaccounted: Readonly<Record<string, Damage>> = {
  'a line that is unreadable': [/"type":"cut","chunk":2/, /.+/, 'x'],
  'a line that lost a block': [/"type":"cut","chunk":2/, '"firstRecord"', '\0'.repeat(512)],
  'a line that ends as an intent does': [
    /"type":"cut","chunk":2/,
    '"firstRecord"',
    '"firstRecord":1,"attempt":9,"at"',
  ],
  'two lines in one': [/"type":"cut","chunk":2/, /$/, '{"type":"intent","chunk":9,"crc":"12345678"}'],
  'an intent with another chunk': [/"type":"intent","chunk":2/, '"chunk":2', '"chunk":9'],
  'an intent with another known chunk': [
    /"type":"intent","chunk":2/,
    /"chunk":2(.*)r1-2-1/,
    '"chunk":1$1r1-2-1',
  ],
  'an intent without a file name': [/"type":"intent","chunk":2/, 'r1-2-1', 'X1-2-1'],
  'another folio': [/"type":"accepted","chunk":2/, 'folio-2', 'folio-8'],
  'a search at another time': [/"type":"search"/, '"at":7', '"at":8'],
  'a publication without its number': [/"type":"publishing"/, '"number"', '"nXmber"'],
  'a search for another record': [/"type":"search"/, '"record":3', '"record":2'],
};

describe('a damaged journal beside a complete checkpoint', () => {
  it.each(Object.entries(accounted))('is written again: %s', async (_, damage) => {
    await withPaid(async (folder) => {
      await within(folder, complete);
      await damageLines(folder, damage);
      expect(await recovered(folder)).toMatchObject([{ found: 'renewed' }]);
      await within(folder, expectWhole);
    });
  });

  it.each(Object.entries(unaccounted))('is left alone: %s', async (_, damage) => {
    await withPaid(async (folder) => {
      await within(folder, complete);
      const line = await damageLines(folder, damage);
      await expectLost(folder, new RegExp(`line ${line} of .*may hold a payment`));
    });
  });

  it('is written again if a kill has left files of a run whose results were removed', async () => {
    await withPaid(async (folder) => {
      await within(folder, async (checkpoint) => {
        await complete(checkpoint);
        await checkpoint.recordDone('r1', 9);
        await checkpoint.recordPruned('r1', 10);
      });
      await writeFile(join(folder, 'runs', 'r1', 'chunk-000003.csv'), 'x');
      await damageLines(folder, accounted['a folio']!);
      expect(await recovered(folder)).toMatchObject([{ found: 'renewed' }]);
    });
  });

  it('is left alone if a file belongs to a chunk that the checkpoint does not know', async () => {
    await withPaid(async (folder) => {
      await within(folder, complete);
      await writeFile(join(folder, 'runs', 'r1', 'chunk-000003.csv'), 'x');
      await damageLines(folder, accounted['a folio']!);
      await expectLost(folder, /chunk-000003\.csv beside it.*may hold a payment/);
    });
  });
});

describe('a damaged journal beside an old copy of its checkpoint', () => {
  /** Every line that the copy does not know is damaged, so that nothing else shows it. */
  it.each([
    ['an intent', 'intent'],
    ['a folio', 'accepted'],
    ['a search', 'search'],
    ['that two services answered', 'mixed'],
    ['a publication', 'publishing'],
  ])('is not overwritten from the copy: %s', async (name, type) => {
    await withPaid(async (folder) => {
      await copyFile(join(folder, 'checkpoint.db'), join(folder, 'copy'));
      const known = (await readFile(journalOf(folder), 'utf8')).length;
      await within(folder, complete);
      await loseDatabase(folder);
      await copyFile(join(folder, 'copy'), join(folder, 'checkpoint.db'));
      const journal = await readFile(journalOf(folder), 'utf8');
      const only = journal
        .slice(known)
        .split('\n')
        .find((line) => line.includes(`"type":"${type}"`))!;
      await writeFile(journalOf(folder), `${journal.slice(0, known)}${only}\n`);
      await damageLines(folder, [
        new RegExp(`"type":"${type}"(?!,"chunk":1,)`),
        ...accounted[name]!.slice(1),
      ] as never);
      await expectLost(folder, /may hold a payment/);
    });
  });
});

describe.each(['', '\0\0\0', '{"type":"run","version":1'])(
  'a journal without a complete line (%j)',
  (content) => {
    it('is written again from a checkpoint, and reported', async () => {
      await withPaid(async (folder) => {
        await writeFile(journalOf(folder), content);
        expect(await recovered(folder, true)).toMatchObject([
          { found: 'renewed', reason: expect.stringContaining('empty') },
        ]);
        await within(folder, async (checkpoint) => {
          expect(await checkpoint.verifyPaid('r1')).toBe('made');
          expect(await checkpoint.verifyPaid('r1')).toBe('whole');
        });
        await writeFile(journalOf(folder), content);
        await recovered(folder);
        await within(folder, expectWhole);
      });
    });

    it('beside a lost checkpoint is reported, and its run is left alone', async () => {
      await withPaid(async (folder) => {
        await writeFile(journalOf(folder), content);
        await loseDatabase(folder);
        expect(await recovered(folder)).toMatchObject([
          { found: 'lost', reason: expect.stringContaining('paid.log is empty') },
        ]);
        await expect(openSqliteCheckpoint(folder)).rejects.toMatchObject({ code: 'CHECKPOINT_BEHIND' });
      });
    });
  },
);

/** Calls `use` with a state folder whose only run has one paid chunk. */
function withPaid(use: (folder: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    await within(folder, async (checkpoint) => {
      await checkpoint.recordRun(sampleRun('r1'));
      await addChunk(checkpoint, 'r1', 1, 'submitted');
    });
    await use(folder);
  });
}

/** One line of each kind. */
async function complete(checkpoint: Checkpoint): Promise<void> {
  await addChunk(checkpoint, 'r1', 2, 'cut');
  await beginUpload(checkpoint, 'r1', 2);
  await checkpoint.recordDropped('r1', 2, 5);
  await beginUpload(checkpoint, 'r1', 2);
  await checkpoint.recordAccepted('r1', 2, sampleReply(2), 6);
  await checkpoint.recordSearchIntent('r1', 3, 7, sampleBudget());
  await checkpoint.recordSearchEnd('r1', 3, { state: 'answered', values: { code: '1' } });
  await checkpoint.recordMixed('r1');
  await checkpoint.recordPublishing('r1', samplePublication);
}

async function expectWhole(checkpoint: Checkpoint): Promise<void> {
  expect(await checkpoint.verifyPaid('r1')).toBe('whole');
}

/** @returns the number of the first damaged line, from 1. */
async function damageLines(folder: string, [line, what, by]: Damage): Promise<number> {
  const lines = (await readFile(journalOf(folder), 'utf8')).split('\n');
  const at = lines.findIndex((text) => line.test(text));
  const damaged = lines[at]!.replace(what, by);
  expect(damaged).not.toBe(lines[at]);
  await writeFile(journalOf(folder), lines.with(at, damaged).join('\n'));
  return at + 1;
}

/** Expects that nothing changes, and that the run is refused as before. */
async function expectLost(folder: string, reason: RegExp): Promise<void> {
  const journal = await readFile(journalOf(folder));
  expect(await recovered(folder)).toMatchObject([{ found: 'lost', reason: expect.stringMatching(reason) }]);
  expect(await readFile(journalOf(folder))).toEqual(journal);
  const verified = within(folder, (checkpoint) => checkpoint.verifyPaid('r1'));
  await expect(verified).rejects.toMatchObject({ code: 'JOURNAL_DAMAGED' });
}

async function recovered(folder: string, dryRun = false) {
  return (await recover({ stateDir: folder, pipeline: 'nightly' }, { dryRun })).runs;
}

async function within(folder: string, use: (checkpoint: Checkpoint) => Promise<unknown>): Promise<void> {
  const checkpoint = await openSqliteCheckpoint(folder);
  try {
    await use(checkpoint);
  } finally {
    await checkpoint.close();
  }
}

function journalOf(folder: string): string {
  return join(folder, 'runs', 'r1', 'paid.log');
}
