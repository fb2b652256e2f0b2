/** Texts in a file are found wherever they stand, across the pieces in which it is read too. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findTexts } from '../../../src/service/faults/work-with-faults.js';
import { useFolder } from '../../helpers/folder.js';

const folder = useFolder();
const PIECE = 64 * 1024;

it('finds texts at the beginning, at the end, and across two pieces', async () => {
  const path = join(await folder(), 'upload.csv');
  const middle = 'a'.repeat(PIECE - 'first'.length - 3);
  await writeFile(path, `first${middle}Größe${'b'.repeat(2 * PIECE)}last`);
  const found = await findTexts(path, ['first', 'Größe', 'last', 'firsta', 'Größer', 'ebb', 'x']);
  expect([...found].sort()).toEqual(['Größe', 'ebb', 'first', 'firsta', 'last']);
});

it('finds nothing where nothing is sought, nor in an empty file', async () => {
  const path = join(await folder(), 'empty.csv');
  await writeFile(path, '');
  expect(await findTexts(path, [])).toEqual(new Set());
  expect(await findTexts(path, ['a'])).toEqual(new Set());
});
