/** Records of a source that is copied first, found by their keys. */
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { Run } from '../../../src/checkpoint/checkpoint.js';
import { parseConfig } from '../../../src/config/load-config.js';
import { fieldValue } from '../../../src/csv/table.js';
import { findRecords } from '../../../src/run/answers/find-records.js';
import { spoolFolder, writeCopy } from '../../../src/spool/spool-folder.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();

it('of objects that a program has passed in are read as they were written, whatever the config says of files', async () => {
  const source = { path: '-', encoding: 'latin1', delimiter: ';', skipLines: 1, key: 'id' };
  const config = parseConfig(minimalWith({ source }), await folder());
  const signal = new AbortController().signal;
  const text = Buffer.from('id,BusinessName\n1,"Joe\'s; Diner"\n2,Café\n');
  const spool = { folder: spoolFolder(config), signal, at: () => undefined };
  const path = await writeCopy(
    spool,
    (async function* () {
      yield text;
    })(),
  );
  const sha256 = createHash('sha256').update(text).digest('hex');
  const latest = { id: 'r1', source: { files: [{ path, name: 'records', sha256 }] } } as unknown as Run;
  const { records, fields } = await findRecords(config, ['2'], { latest, signal });
  expect(fieldValue(records, 0, fields.fields[0]!)).toBe('Café');
});
