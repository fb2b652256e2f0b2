/** A header that looks like a record, and a record that looks like the header, are warned of once, before anything is paid. */
import { describe, expect, it } from 'vitest';
import { checkSetup } from '../../../pipelines/index.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';

const rows = ['Acme Inc,12 Main St,MT,120', 'Harbor Hardware,9 Oak Ave,ID,340', 'Rye & Sons,4 Elm Rd,WA,75'];
const columns = { name: 'Acme Inc', address: '12 Main St', state: 'MT' };
const names = { name: 'Business', address: 'Address', state: 'State' };

function withSource(text: string, config: object, use: (job: Job) => Promise<void>) {
  return withJob({ files: { 'source.csv': text }, config: { ...config } }, use);
}

async function warningsOf(job: Job): Promise<string[]> {
  const warnings: string[] = [];
  let paid = 0;
  const warn = (_: object, text: string) => {
    paid = job.service.folios.length;
    warnings.push(text);
  };
  const silent = () => undefined;
  await job.enrich({}, { logger: { debug: silent, info: silent, warn, error: silent } });
  expect(paid).toBe(0);
  return warnings.filter((text) => /header/.test(text));
}

async function sourceItem(job: Job) {
  for await (const item of checkSetup(job.config())) if (item.item === 'source') return item;
  return undefined;
}

describe('a doubtful header', () => {
  it.each([
    [
      'a file without a header',
      rows,
      { upload: { columns } },
      'it holds "12 Main St", as the records below it',
      'source.header: [column1, column2, column3, column4]',
    ],
    [
      'a file with one, in spite of source.header',
      ['business,ADDRESS,State,Staff', ...rows],
      { upload: { columns: names }, source: { header: ['Business', 'Address', 'State', 'n'] } },
      'the first record of',
      'remove source.header',
    ],
    [
      'a file with the mark of UTF-8, in spite of source.encoding',
      ['\u{feff}Id,Business,Address,State', ...rows.map((row, at) => `${at},${row.replace(/,\d+$/, '')}`)],
      { upload: { columns: names }, source: { encoding: 'windows-1252' } },
      'begins with the byte order mark of UTF-8, and is read as windows-1252',
      'remove source.encoding',
    ],
  ])('%s', (_, lines, config, what, cure) =>
    withSource(`${lines.join('\n')}\n`, config, async (job) => {
      const item = await sourceItem(job);
      expect(item).toMatchObject({ outcome: 'unsure', error: null });
      const [warning, ...others] = await warningsOf(job);
      for (const text of [item!.text, warning]) {
        expect(text).toContain(what);
        expect(text).toContain(cure);
      }
      expect(others).toEqual([]);
    }),
  );

  it.each([
    ['Business,Address,State,Staff', rows],
    // Months, numbers and years name columns; a state names one that holds none.
    ['Business,Address,State,2024-01', rows],
    ['Business,Address,State,120', rows],
    ['Business,Address,State,CO', rows],
  ])('but not %s', (header, lines) =>
    withSource(`${[header, ...lines].join('\n')}\n`, { upload: { columns: names } }, async (job) => {
      const item = await sourceItem(job);
      expect(item?.outcome, item?.text).toBe('ok');
    }),
  );

  it('and not where nothing is below it: that has no record', () =>
    withSource('Business,12 Main St,State,Staff\n', {}, async (job) => {
      const upload = { columns: { ...names, address: '12 Main St' } };
      for await (const item of checkSetup(job.config({ upload }))) {
        if (item.item !== 'source') continue;
        expect(item).toMatchObject({ outcome: 'failed', text: expect.stringContaining('no record') });
        expect(item.text).not.toContain('below it');
      }
    }));

  it('and not where source.header is right', () =>
    withSource(
      `${rows.join('\n')}\n`,
      { upload: { columns: names }, source: { header: ['Business', 'Address', 'State', 'Staff'] } },
      async (job) => {
        expect(await sourceItem(job)).toMatchObject({ outcome: 'ok' });
        expect(await warningsOf(job)).toEqual([]);
      },
    ));
});
