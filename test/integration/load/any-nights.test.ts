/**
 * After any nights, a merged table holds what the outputs say that were loaded: by deltas and whole, with rows that are
 * kept and deleted, after nights that were not loaded, and after a publication of the same run.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { load, publish, retry } from '../../../pipelines/index.js';
import { type LoadedJob, type Row, withLoadedJob } from '../../helpers/postgres/loaded-job.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { forTime } from '../../helpers/properties/for-time.js';

const server = usePostgres();

/** As the source has it, with its quotes. */
const note = fc.constantFrom('', '""', 'plain', '"plain"', '"a, ""b""\nc"');
const business = fc.record({ id: fc.nat(11), name: fc.nat(2), note, fails: fc.nat(5) });
const night = fc.record({
  businesses: fc.uniqueArray(business, { minLength: 6, maxLength: 10, selector: ({ id }) => id }),
  delta: fc.nat(3).map((one) => one > 0),
  onRemoved: fc.constantFrom('keep', 'delete'),
  isLoaded: fc.nat(4).map((one) => one > 0),
  reuses: fc.boolean(),
  again: fc.constantFrom('nothing', 'nothing', 'publish', 'retry'),
});
type Night = typeof night extends fc.Arbitrary<infer One> ? One : never;

const nameOf = ({ id, name }: Night['businesses'][number]) => `Firm ${id} ${name}`;

function sourceOf(businesses: Night['businesses']): string {
  const rows = businesses.map((one) => `0${one.id},${nameOf(one)},1 Main St,MT,${one.note}\n`);
  return `id,Business,Address,State,Note\n${rows.join('')}`;
}

/** The rows of the output as a database reads them: an empty cell in quotes is an empty text. */
async function outputOf(job: LoadedJob): Promise<readonly Row[]> {
  const cast = (text: string, { quoting }: { readonly quoting: boolean }) =>
    text === '' && !quoting ? null : text;
  const [header, ...rows]: (string | null)[][] = parse(await readFile(job.outputPath), {
    cast: cast as never,
  });
  return rows.map((row) => Object.fromEntries(row.map((cell, at) => [header![at]!.toLowerCase(), cell])));
}

const OTHERS = ['prediction_status', 'prediction_error_code', 'prediction_error'];
const isAnswer = (column: string) => column.startsWith('prediction_') && !OTHERS.includes(column);

/** What a load makes of the table. */
function merge(table: ReadonlyMap<string, Row>, output: readonly Row[], onRemoved: string) {
  const after = new Map(onRemoved === 'keep' ? table : []);
  for (const row of output) {
    const before = row.prediction_status === 'SUCCESSFUL' ? undefined : table.get(row.id!);
    const cells = Object.entries(row).map(([column, cell]) => [
      column,
      before !== undefined && isAnswer(column) ? before[column]! : cell,
    ]);
    after.set(row.id!, Object.fromEntries(cells));
  }
  return after;
}

async function spend(
  job: LoadedJob,
  { businesses, delta, onRemoved, isLoaded, reuses, again }: Night,
): Promise<void> {
  const changes = {
    output: { delta },
    load: { onRemoved, ...(!isLoaded && { into: 'none' }) },
    ...(reuses && { reuse: { maxAge: '90d', maxMiss: '100%' } }),
  };
  job.failing.clear();
  for (const one of businesses) if (one.fails === 0) job.failing.add(nameOf(one));
  await writeFile(job.sourcePath, sourceOf(businesses));
  const { run } = await job.enrich(changes);
  if (again === 'nothing') return;
  job.failing.clear();
  await (again === 'publish' ? publish : retry)(job.config(changes), run);
  if (isLoaded) await load(job.config(changes), run);
}

it('a table that is merged into is what the loaded outputs say', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(night, { minLength: 4, maxLength: 6 }), async (nights) => {
      await withLoadedJob(server, { mode: 'merge' }, async (job) => {
        let table: ReadonlyMap<string, Row> = new Map();
        for (const one of nights) {
          await spend(job, one);
          if (!one.isLoaded) continue;
          // A retry that finds nothing to ask leaves the publication that was loaded before.
          table = merge(table, await outputOf(job), one.onRemoved);
          expect(new Map((await job.table()).map((row) => [row.id, row]))).toEqual(table);
        }
      });
    }),
    forTime(90_000, 5),
  );
}, 120_000);
