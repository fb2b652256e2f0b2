import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { uploadNames } from '../../../src/stages/submit/upload-names.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';

const chunk = { number: 12, sha256: '0123456789abcdef' };

function namesWith(description?: string) {
  const upload = { columns: { name: 'BusinessName' }, ...(description && { description }) };
  return uploadNames({ id: 'R1', config: parseConfig(minimalWith({ upload }), '/') }, chunk);
}

it('a file is called by pipeline, run, chunk, attempt and hash', () => {
  const { before, after } = namesWith().fileName;
  expect(`${before}3${after}`).toBe('nightly-R1-12-3-01234567.csv');
});

it('a description is the template, filled in', () => {
  expect(namesWith().description).toBe('nightly R1 12 01234567');
  expect(namesWith('{chunk}/{chunk} of {pipeline}, $1 $& {run}').description).toBe(
    '12/12 of nightly, $1 $& R1',
  );
  expect(namesWith('plain').description).toBe('plain');
});
