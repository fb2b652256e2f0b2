/** Lines of a journal: written, torn, damaged, read again. */
import { appendFile, readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  openJournalFile,
  readJournal,
  writeJournalFile,
} from '../../../src/checkpoint/journal/journal-file.js';
import {
  decodeLine,
  encodeLine,
  type JournalLine,
  journalVersion,
} from '../../../src/checkpoint/journal/journal-line.js';
import { sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';

const { id: run, choice: _, ...values } = sampleRun('r1');
const head: JournalLine = { type: 'run', version: journalVersion, run, ...values };
const lineOf = (chunk: number): JournalLine => ({ type: 'refused', chunk, refusal: `no “${chunk}”` });
const lines = [head, ...Array.from({ length: 40 }, (_, at) => lineOf(at + 1))];

/** Calls `use` with a journal of these lines. */
function withJournalFile(use: (path: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const path = join(folder, 'runs', 'r1', 'paid.log');
    writeJournalFile(path, lines);
    await use(path);
  });
}

describe('a line', () => {
  it('comes back as it was', () => {
    expect(decodeLine(encodeLine(head).trimEnd())).toEqual(head);
  });

  it('is not read where any bit of it is another', () => {
    const bytes = Buffer.from(encodeLine(lineOf(7)).trimEnd());
    for (let at = 0; at < bytes.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(bytes);
        flipped[at]! ^= 1 << bit;
        expect(decodeLine(flipped.toString())).toBeUndefined();
      }
    }
  });
});

describe('a journal', () => {
  it('cut anywhere gives its whole lines, and new lines are written after them', () =>
    withJournalFile(async (path) => {
      const whole = await readFile(path);
      const headEnd = whole.indexOf('\n') + 1;
      for (let length = whole.length; length >= headEnd; length -= 61) {
        await truncate(path, length);
        const read = [...readJournal(path)];
        expect(read).toEqual(lines.slice(0, read.length));
        const file = openJournalFile(path);
        file.add(lineOf(99));
        await file.sync();
        file.close();
        expect([...readJournal(path)]).toEqual([...read, lineOf(99)]);
        await writeFile(path, whole.subarray(0, length));
      }
    }));

  it('with the NULs that a power failure leaves at its end is whole without them', () =>
    withJournalFile(async (path) => {
      await appendFile(path, Buffer.concat([Buffer.alloc(3_000), Buffer.from('x"}\n'), Buffer.alloc(50)]));
      expect([...readJournal(path)]).toEqual(lines);
    }));

  it('with a line in its middle that is another is refused by file and line', () =>
    withJournalFile(async (path) => {
      const text = (await readFile(path, 'utf8')).replace('“17”', '“71”');
      await writeFile(path, text);
      const damaged = { name: 'ConfigError', code: 'JOURNAL_DAMAGED', facts: { path, line: 18 } };
      expect(() => [...readJournal(path)]).toThrow(expect.objectContaining(damaged));
      const seen: number[] = [];
      expect([...readJournal(path, (line) => seen.push(line))]).toHaveLength(lines.length - 1);
      expect(seen).toEqual([18]);
    }));

  it('that is empty, or of a newer foliopipe, is refused', () =>
    withJournalFile(async (path) => {
      await writeFile(path, '');
      expect(() => [...readJournal(path)]).toThrow(expect.objectContaining({ code: 'JOURNAL_DAMAGED' }));
      await writeFile(path, encodeLine({ ...head, version: journalVersion + 1 } as JournalLine));
      expect(() => [...readJournal(path)]).toThrow(expect.objectContaining({ code: 'JOURNAL_NEWER' }));
    }));

  it('keeps the order of lines that wait for the disk together', () =>
    withJournalFile(async (path) => {
      const file = openJournalFile(path);
      const more = Array.from({ length: 30 }, (_, at) => lineOf(100 + at));
      await Promise.all(
        more.map(async (line) => {
          file.add(line);
          await file.sync();
        }),
      );
      file.close();
      expect([...readJournal(path)]).toEqual([...lines, ...more]);
    }));

  it('writes the lines of a sync that fails once more, also for a call that has waited for it', () =>
    withJournalFile(async (path) => {
      let syncs = 0;
      const file = openJournalFile(path, async () => {
        syncs += 1;
        if (syncs === 1) {
          // What a failed sync leaves on the disk is not known.
          await truncate(path, 0);
          await writeFile(path, lines.map(encodeLine).join(''));
          throw new Error('EIO');
        }
      });
      file.add(lineOf(100));
      const first = file.sync();
      file.add(lineOf(101));
      await Promise.all([first, file.sync()]);
      file.close();
      expect([...readJournal(path)]).toEqual([...lines, lineOf(100), lineOf(101)]);
    }));

  it('gives the error of a disk that fails again, and writes the line with the next sync', () =>
    withJournalFile(async (path) => {
      let isBroken = true;
      const file = openJournalFile(path, async () => {
        if (isBroken) throw new Error('EIO');
      });
      file.add(lineOf(100));
      await expect(file.sync()).rejects.toThrow('EIO');
      isBroken = false;
      await file.sync();
      file.close();
      expect([...readJournal(path)]).toEqual([...lines, lineOf(100)]);
    }));
});
