/** The commands adopt and ledger, typed as a person would, against the local service. */
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, killJobAt } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe, servedFolios } from '../../helpers/service/serve.js';

const folder = useSharedFolder();

it('a folio found after a kill is adopted, collected, and in the ledger once', async () => {
  const dataDir = join(await folder(), 'service');
  let serve = await openServe(dataDir);
  const job = await createJob(await folder(), {
    baseUrl: serve.url,
    records: 30,
    settings: { budget: { pricePerRecord: 0.5 }, concurrency: { uploads: 1 } },
  });
  const cli = (args: string[]) => callMain(args, { env: job.env });
  try {
    // Each command is killed after a POST: of chunk 1, then of chunk 2, because ambiguous chunks are sent last.
    for (let kills = 0; kills < 2; kills++) await killJobAt(job, 'after-post-before-commit');
    await serve.stop();
    const accepted = servedFolios(dataDir);
    expect(accepted).toHaveLength(2);
    const [first, second] = accepted.map(({ folio }) => folio);
    const [, run = ''] = /^nightly-(.+)-1-1-[0-9a-f]{8}\.csv$/.exec(accepted[0]!.fileName)!;
    serve = await openServe(dataDir, { port: serve.port });

    const ledger = await cli(['ledger', job.config, '--json']);
    const status = await cli(['status', job.config]);
    // The checkpoint has chunk 2 as being uploaded still: no process works, so nobody knows what became of it either.
    for (const [index, { fileName }] of accepted.entries()) {
      const command = `foliopipe adopt -c ${job.config} --run ${run} --chunk ${index + 1} FOLIO`;
      expect(status.stdout).toContain(
        `chunk ${index + 1} was possibly accepted; if the service lists the file ${fileName}, bind it: ${command}\n`,
      );
    }
    expect(status.stdout).toContain('2 ambiguous');
    expect(status.stdout).not.toContain('uploading');
    const told = jsonLines((await cli(['status', job.config, '--json'])).stdout).at(-1);
    expect(told).toMatchObject({
      uploads: { ambiguous: 2 },
      ambiguousRecords: 20,
      chunks: { byState: { uploading: 0, ambiguous: 2 } },
      adoptable: accepted.map(({ fileName }, index) => ({ chunk: index + 1, fileName })),
    });
    const shown = jsonLines((await cli(['runs', 'show', run, job.config, '--json'])).stdout).at(-1);
    expect(shown).toMatchObject({
      summary: { uploads: { ambiguous: 2 }, ambiguousRecords: 20 },
      help: accepted.map(({ fileName }) => expect.stringContaining(fileName)),
    });
    const planned = async (policy: string) => {
      const plan = await cli(['plan', job.config, '--json', '--set', `ambiguous.policy=${policy}`]);
      return (jsonLines(plan.stdout).at(-1) as { next: { records: number; perhaps: number } }).next;
    };
    const [sent, held] = [await planned('resubmit'), await planned('hold')];
    expect([sent.perhaps, held.perhaps]).toEqual([20, 20]);
    expect(held.records).toBe(sent.records - 20);
    // It was sent once, so it was not paid twice.
    const unknown = await cli(['ledger', job.config]);
    expect(unknown.stdout.match(/ {2}paid\?$/gm)).toHaveLength(2);
    expect(unknown.stdout).not.toContain('paid twice?');
    const unclear = jsonLines(ledger.stdout);
    expect(unclear[0]).toMatchObject({
      type: 'upload',
      state: 'ambiguous',
      folio: null,
      possiblyTwice: true,
    });
    expect(unclear.at(-1)).toMatchObject({ uploads: 2, records: 20, possiblyTwice: 20, amount: 10 });

    const adopt = (chunk: string, folio: string, ...flags: string[]) =>
      cli(['adopt', '--run', run, '--chunk', chunk, folio, job.config, ...flags]);
    const words = ['adopt', '--run', run, '--chunk', '1', first!, job.config];
    const text = await cli(words);
    expect(text).toMatchObject({ code: 0, stdout: '' });
    expect(text.stderr).toMatch(/rehearsal \S+: chunk 1 is bound to folio \S+ \(10 records, \w+\); the next/);
    const again = await adopt('1', first!, '--json');
    expect(again.code).toBe(2);
    // On a busy machine, lines of type progress come before it.
    expect(jsonLines(again.stdout).at(-1)).toMatchObject({
      type: 'summary',
      error: { code: 'ADOPT_CHUNK_STATE' },
    });
    const json = jsonLines((await adopt('2', second!, '--json')).stdout).at(-1);
    expect(json).toMatchObject({ type: 'summary', run, chunk: 2, folio: second, records: 10, exitCode: 0 });

    expect(await cli(['run', job.config])).toMatchObject({ code: 0 });
    const table = await cli(['ledger', job.config]);
    const csv = await cli(['ledger', job.config, '--csv', '--all']);
    const lines = await cli(['ledger', job.config, '--json']);
    const elsewhen = await cli(['ledger', job.config, '--json', '--month', '2020-02']);
    const both = await cli(['ledger', job.config, '--json', '--csv']);
    const totals = {
      type: 'summary',
      uploads: 0,
      searches: 0,
      records: 0,
      possiblyTwice: 0,
      ambiguous: 0,
      amount: 0,
      reused: 0,
      duplicates: 0,
      saved: { records: 0, amount: 0, currency: 'USD' },
      currency: 'USD',
      exitCode: 0,
    };
    expect(jsonLines(lines.stdout).at(-1)).toMatchObject({
      ...totals,
      uploads: 3,
      rehearsalUploads: 3,
      rehearsalRecords: 30,
    });
    expect(jsonLines(elsewhen.stdout)).toEqual([
      { ...totals, rehearsalUploads: 0, rehearsalSearches: 0, rehearsalRecords: 0 },
    ]);
    expect(both.code).toBe(2);
    expect(jsonLines(both.stdout)).toMatchObject([{ type: 'summary', error: { code: 'USAGE' } }]);
    const rows = parse(csv.stdout, { columns: true }) as Record<string, string>[];
    expect(rows.map(({ chunk, state, records_sent }) => [chunk, state, records_sent])).toEqual(
      ['1', '2', '3'].map((chunk) => [chunk, 'accepted', '10']),
    );
    expect(rows[0]).toMatchObject({
      pipeline: 'nightly',
      run,
      attempt: '1',
      folio: first,
      records_counted: '10',
      possibly_twice: 'false',
      rehearsal: 'true',
    });
    expect(table.stdout.split('\n')).toHaveLength(1 + 1 + 3 + 2 + 1);
    expect(table.stdout).toMatch(
      /^ {2}time .*\n\S+ {2}nightly {2}rehearsal\n {2}\d\d-\d\d \d\d:\d\d .*\n[\s\S]*30 records in rehearsals \(3 uploads\) cost nothing/,
    );
  } finally {
    await serve.stop();
  }
  expect(servedFolios(dataDir)).toHaveLength(3);
});
