/** What of a state folder goes into a backup. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { copyFile, stateFiles } from '../../../src/run/backup/backup-files.js';
import { withFolder } from '../../helpers/folders/folders.js';

it('only the whole lines of a journal, and no file that is being written', () =>
  withFolder(async (folder) => {
    const journal = 'runs/20261121T031002-4f9c1a/paid.log';
    for (const name of [journal, 'deltas/nightly.d/last.json', 'deltas/nightly.d/last.json.tmp']) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), '{"type":"a"}\n{"type":"b');
    }
    expect(stateFiles(folder)).toMatchObject({
      journals: [journal],
      deltas: ['deltas/nightly.d/last.json'],
    });
    const copy = join(folder, 'copy', 'paid.log');
    expect(await copyFile(join(folder, journal), copy)).toMatchObject({ bytes: 13 });
    expect(readFileSync(copy, 'utf8')).toBe('{"type":"a"}\n');
  }));
