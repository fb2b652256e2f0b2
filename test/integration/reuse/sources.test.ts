/** Reuse with sources of every form: what is compared is what is sent. */
import { appendFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import type { AnswerStore } from '../../../src/reuse/answer-store.js';
import { createLocalAnswerStore } from '../../../src/reuse/local-answer-store.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import {
  changedLines,
  line,
  sampleLines,
  textOf,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';

const A = sampleLines(100);
const B = changedLines(A, 5);

describe('a source', () => {
  it('without a key column is joined by what comes back', async () => {
    const distinct = Array.from({ length: 60 }, (_, at) =>
      line(at % 7 === 3 ? `Failing ${at}` : `Shop ${at}`),
    );
    await withNights({ config: { upload: { keyColumn: null } } }, async (nights) => {
      await nights.night(distinct);
      const next = changedLines(distinct, 5);
      expect((await nights.night(next)).bought).toEqual(unknownNames(next, distinct));
      await expectEnriched(nights);
      expect((await nights.night(distinct.map((one) => withNote(one, 'c')))).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('with semicolons, or with quotes around every field, has the answers of one with commas', async () => {
    await withNights({}, async (nights) => {
      const plain = [line('Café, Größe'), line('Failing; Co'), line('Needs "quotes"')];
      const write = (delimiter: string, note: string, isQuoted = false) =>
        writeFile(
          nights.sourcePath,
          [
            ['id', 'Business', 'Address', 'State', 'Note'],
            ...plain.map(({ record }) => [...Object.values(record).slice(0, 4), note]),
          ]
            .map((row) =>
              row
                .map((text) => (isQuoted || /[",;]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text))
                .join(delimiter),
            )
            .join('\n'),
        );
      await write(',', 'a');
      expect((await nights.again()).bought).toHaveLength(3);
      await write(';', 'b');
      expect((await nights.again()).bought).toEqual([]);
      const rows = parse(await nights.output(), { columns: true }) as Record<string, string>[];
      for (const row of rows) expect(row.prediction_status).toBe(predictedEnrichment(row).status);
      for (const delimiter of [',', ';']) {
        await write(delimiter, 'c', true);
        expect((await nights.again()).bought).toEqual([]);
      }
    });
  });

  it('in latin1 has the answers of one in UTF-8', async () => {
    await withNights({}, async (nights) => {
      const text = textOf([line('Café Größe'), line('Ñandú')]);
      await writeFile(nights.sourcePath, text);
      await nights.again();
      await writeFile(nights.sourcePath, Buffer.from(text.replaceAll(',MT,', ',MT,b'), 'latin1'));
      const { bought } = await nights.again({ source: { encoding: 'latin1' } });
      expect(bought).toEqual([]);
    });
  });

  it('with records that are rejected reuses the others', async () => {
    await withNights({ config: { source: { maxRejected: '100%' } } }, async (nights) => {
      await nights.write(A);
      await appendFile(nights.sourcePath, 'too,few\n');
      const first = await nights.again();
      expect(first.bought).toHaveLength(100);
      await nights.write(B);
      await appendFile(nights.sourcePath, 'too,few\nand,more,fields,than,there,are\n');
      const second = await nights.again();
      expect(second.bought).toEqual(unknownNames(B, A));
      expect(second.counts).toMatchObject({ read: B.length + 2, rejected: 2 });
    });
  });

  it('in several files, also compressed, is compared record by record', async () => {
    const path = ['part-1.csv', 'part-2.csv.gz'];
    await withNights({ config: { source: { path: 'part-*' } } }, async (nights) => {
      const write = async (lines: typeof A, at: number) => {
        await writeFile(join(nights.folder, path[0]!), textOf(lines.slice(0, at)));
        await writeFile(join(nights.folder, path[1]!), gzipSync(textOf(lines.slice(at))));
      };
      await write(A, 70);
      expect((await nights.again()).bought).toHaveLength(100);
      await write(B, 20);
      expect((await nights.again()).bought).toEqual(unknownNames(B, A));
      await nights.write(B);
      await expectEnriched(nights);
    });
  });

  it('with blank records sends them each night, if they are sent', async () => {
    await withNights({ config: { upload: { skipBlank: false } } }, async (nights) => {
      const blank = line('', '', '', 'blank');
      expect((await nights.night([line('One'), blank])).bought).toHaveLength(2);
      const { bought } = await nights.night(
        [blank, line('One', '1 Main St', 'MT', 'b'), line('Two')],
        {},
        { yes: true },
      );
      expect(bought).toEqual(['', 'Two']);
    });
  });

  it('that is another one for a moment, while its records are looked up, is looked up again', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const store = createLocalAnswerStore(join(nights.config().stateDir, 'reuse'));
      let lookups = 0;
      const answers: AnswerStore = {
        ...store,
        openLookup: async (options) => {
          const lookup = await store.openLookup(options);
          lookups += 1;
          if (lookups > 1) return lookup;
          await nights.write(A.toReversed());
          const add: typeof lookup.add = async (batch) => {
            await lookup.add(batch);
            await nights.write(A);
          };
          return { ...lookup, add };
        },
      };
      expect(await nights.again({}, { fresh: true, answers })).toMatchObject({ found: 'new', bought: [] });
      expect(lookups).toBe(2);
      await expectEnriched(nights);
    });
  });

  it('whose columns have moved is compared by what is sent', async () => {
    await withNights({}, async (nights) => {
      const plain = Array.from({ length: 20 }, (_, at) => line(`Shop ${at}`, `${at} Main St`));
      await nights.night(plain);
      const moved = plain.map(({ record }) => `${record.State},x,${record.Business},${record.Address}`);
      await writeFile(nights.sourcePath, ['State,Extra,Business,Address', ...moved].join('\n'));
      expect((await nights.again()).bought).toEqual([]);
      const rows = await nights.rows();
      for (const row of rows)
        expect(row.prediction_naics_code).toBe(predictedEnrichment(row).added.naics_code);
    });
  });

  it('sent under another name is bought again', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const { bought } = await nights.night(
        A.map((one) => withNote(one, 'b')),
        { upload: { columns: { title: 'Note' } } },
        { yes: true },
      );
      expect(bought).toHaveLength(100);
    });
  });
});
