/** `--new` and `source.onChange: supersede` say what is paid in vain, and `--new` asks first where folios are open. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import {
  abandon,
  adopt,
  type FoliopipeError,
  type Logger,
  openCheckpointReader,
  planRun,
  retry,
  submit,
} from '../../../pipelines/index.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import {
  type Changes,
  expectEnriched,
  folioOf,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, killCliAt } from '../../helpers/processes/cli.js';

const folder = useSharedFolder();
const price = { budget: { pricePerRecord: 0.05 } };
const reuse = { reuse: { maxAge: '90d', failedAge: '90d', maxMiss: '100%' } };
const supersede = { source: { onChange: 'supersede' } };

function listen(): { logger: Logger; told: string[] } {
  const told: string[] = [];
  const silent = () => undefined;
  const warn = (_: unknown, text?: string) => void told.push(text ?? '');
  return { logger: { debug: silent, info: warn, warn, error: warn } as Logger, told };
}

/** Interrupts the job when three chunks are accepted, one of them is downloaded and two folios are open. */
async function openRun(job: Job): Promise<void> {
  let open: () => void;
  const thirdIsOpen = new Promise<void>((resolve) => {
    open = resolve;
  });
  job.service.behaviour = {
    finishedAtPoll: ({ chunk }) => (chunk === 1 ? 1 : Number.POSITIVE_INFINITY),
    hold: ({ operation, chunk }) => {
      if (operation === 'track' && chunk === 3) open();
      return operation === 'download' ? thirdIsOpen : undefined;
    },
  };
  await interrupt(job, stopAt('after-downloaded-before-merge', 1));
}

/** Whether a column of a result is none that was sent. */
const isAdded = (name: string) => !['name', 'address', 'state'].includes(name);

const sequential: Changes = { concurrency: { uploads: 1, folios: 3 } };

async function statesOf(job: Job): Promise<readonly string[]> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    return (await reader.runs('hostile')).map(({ state }) => state);
  } finally {
    await reader.close();
  }
}

const plan = (job: Job, fresh: boolean, changes?: Changes) =>
  planRun(job.config(changes), { signal: new AbortController().signal, fresh });

describe('a new run that gives up an unfinished one', () => {
  it('asks first where folios are open, in run and submit, and changes nothing', async () => {
    await withJob({ config: { ...price, ...sequential } }, async (job) => {
      await openRun(job);
      const uploads = job.service.count('upload');
      expect(uploads).toBeGreaterThan(1);
      const open = uploads - 1;
      const error = (await job.failure({}, { fresh: true })) as FoliopipeError;
      expect(error).toMatchObject({ code: 'RUN_UNFINISHED_PAID', exitCode: 2 });
      expect(error.facts).toMatchObject({ paid: uploads * 10, inVain: uploads * 10, collected: 1 });
      expect(error.message).toContain(
        `${uploads * 10} of the ${uploads * 10} records paid for are paid in vain (${(uploads * 0.5).toFixed(2)} USD)`,
      );
      expect(error.message).toMatch(new RegExp(`; ${open} folios? \\(${open * 10} records\\) open at`));
      expect(error.message).toContain(
        'the answers of 1 chunk (10 records) stay on the disk for 30d (retention.results), but are bought again: reuse.maxAge is 0',
      );
      await expect(submit(job.config(), { fresh: true })).rejects.toMatchObject({ code: error.code });
      expect((await plan(job, true)).next.givesUp).toMatchObject({
        paid: uploads * 10,
        needsYes: true,
        boughtAgain: 'reuse.maxAge is 0',
      });
      expect(await statesOf(job)).toEqual(['open']);
      expect(job.service.count('upload')).toBe(uploads);

      job.service.behaviour = {};
      const { logger, told } = listen();
      expect(await job.enrich({}, { fresh: true, yes: true, logger })).toMatchObject({ exitCode: 0 });
      expect(told.join('\n')).toMatch(/unfinished run \S+ is given up: \d+ of the \d+ records paid for/);
      expect(await statesOf(job)).toEqual(['done', 'superseded']);
      await expectEnriched(job);
    });
  });

  it('asks first where the answers that are here cannot be joined to their records, although reuse would take them', async () => {
    const config = { ...price, ...reuse, upload: { keyColumn: null } };
    const behaviour = { style: () => ({ columns: (all: readonly string[]) => all.filter(isAdded) }) };
    await withJob({ config, behaviour }, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'JOIN_IMPOSSIBLE', exitCode: 6 });
      const uploads = job.service.count('upload');
      const error = (await job.failure({}, { fresh: true })) as FoliopipeError;
      expect(error).toMatchObject({ code: 'RUN_UNFINISHED_PAID', exitCode: 2 });
      expect(error.facts.inVain).toBe(error.facts.paid);
      expect(error.message).toContain('bought again: they cannot be read, or joined to their records');
      expect(job.service.count('upload')).toBe(uploads);
      expect(await statesOf(job)).toEqual(['open']);
      job.service.behaviour = {};
      expect(await job.enrich({}, { fresh: true, yes: true })).toMatchObject({ exitCode: 0 });
    });
  });

  it('says where a superseded run had answers that cannot be joined, on a later night too', async () => {
    const config = { ...reuse, ...supersede, upload: { keyColumn: null } };
    await withJob({ config }, async (job) => {
      await job.enrich();
      job.service.behaviour = {
        style: () => ({ columns: (all: readonly string[]) => all.filter(isAdded) }),
      };
      await writeFile(job.sourcePath, sourceText(70));
      expect(await job.failure()).toMatchObject({ code: 'JOIN_IMPOSSIBLE' });
      job.service.behaviour = {};
      await writeFile(job.sourcePath, sourceText(75));
      const { logger, told } = listen();
      expect(await job.enrich({}, { logger })).toMatchObject({ exitCode: 0 });
      expect(told.join('\n')).toContain('the answers of 1 earlier run cannot be reused');
      const later = listen();
      await writeFile(job.sourcePath, sourceText(80));
      await job.enrich({}, { logger: later.logger });
      expect(later.told.join('\n')).not.toContain('cannot be reused');
    });
  });

  it('says of a run that has no answers nothing about answers, nor does plan', async () => {
    await withJob({ config: { ...reuse } }, async (job) => {
      expect(await job.failure({ budget: { perDay: 1 } })).toMatchObject({ code: 'BUDGET_REACHED' });
      const { logger, told } = listen();
      await writeFile(job.sourcePath, sourceText(70));
      expect((await plan(job, true)).reuse).toMatchObject({ unkept: 0 });
      await job.enrich({}, { fresh: true, logger });
      expect(told.join('\n')).not.toContain('cannot be reused');
    });
  });

  describe('of which the answers of one chunk cannot be joined', () => {
    const style = ({ chunk }: { chunk: number }) =>
      chunk === 3
        ? { columns: (names: readonly string[]) => names.filter((name) => name !== 'record_id') }
        : {};
    const behaviour = { style, finishedAtPoll: ({ chunk }: { chunk: number }) => chunk };

    it('takes all others, and asks first for those of this chunk', async () => {
      await withJob({ config: { ...price, ...reuse }, behaviour }, async (job) => {
        expect(await job.failure()).toMatchObject({ code: 'JOIN_WEAKER', facts: { chunk: 3 } });
        job.service.behaviour = { style };
        // What was still open is fetched first.
        expect(await job.failure()).toMatchObject({ code: 'JOIN_WEAKER', facts: { chunk: 3 } });
        for (const _ of ['before anything is kept', 'then']) {
          const error = (await job.failure({}, { fresh: true })) as FoliopipeError;
          expect(error).toMatchObject({ code: 'RUN_UNFINISHED_PAID', facts: { paid: 60, inVain: 10 } });
          expect(error.message).toContain('some of them cannot be read, or joined to their records');
        }
        job.service.behaviour = {};
        const { origins } = await job.enrich({}, { fresh: true, yes: true });
        // One of the ten records is equal to another one.
        expect([origins.reused.records, origins.sent.records]).toEqual([51, 9]);
        await expectEnriched(job);
      });
    });

    it('leaves the others to the run that supersedes it', async () => {
      await withJob({ config: { ...reuse, ...supersede }, behaviour }, async (job) => {
        expect(await job.failure()).toMatchObject({ code: 'JOIN_WEAKER', facts: { chunk: 3 } });
        job.service.behaviour = {};
        await writeFile(job.sourcePath, sourceText(70));
        const { logger, told } = listen();
        const { origins } = await job.enrich({}, { logger });
        // So is one of the ten new ones.
        expect([origins.reused.records, origins.sent.records]).toEqual([52, 18]);
        expect(told.join('\n')).toContain('the answers of 10 records cannot be kept for later runs');
        expect(told.join('\n')).not.toContain('earlier run cannot be reused');
      });
    });
  });

  it('tells apart what reuse takes again, also with --no-reuse', async () => {
    await withJob({ config: { ...price, ...reuse, ...sequential } }, async (job) => {
      await openRun(job);
      const { paid, inVain, boughtAgain } = (await plan(job, true)).next.givesUp!;
      expect({ inVain, boughtAgain }).toEqual({
        inVain: { records: paid - 10, amount: (paid - 10) * 0.05, currency: 'USD' },
        boughtAgain: null,
      });
      const none = (await job.failure({}, { fresh: true, reuse: false })) as FoliopipeError;
      expect(none).toMatchObject({ code: 'RUN_UNFINISHED_PAID', facts: { inVain: paid } });
      expect(none.message).toContain('are bought again: --no-reuse');
      const error = (await job.failure({}, { fresh: true })) as FoliopipeError;
      expect(error.message).toContain(
        'the answers of 1 chunk (10 records) are here, and later runs take them (reuse.maxAge)',
      );
      job.service.behaviour = {};
      const { origins } = await job.enrich({}, { fresh: true, yes: true });
      expect(origins.reused.records).toBeGreaterThanOrEqual(10);
      expect(origins.sent.records + origins.reused.records).toBe(60);
    });
  });

  it('asks for an upload that may have been accepted, and not where nothing was sent', async () => {
    await withJob({ config: price }, async (job) => {
      await interrupt(job, stopAt('after-run-before-chunk', 1));
      const { logger, told } = listen();
      job.service.behaviour = { trouble: ({ operation }) => (operation === 'upload' ? cut : undefined) };
      await job.failure({}, { ...stopAt('after-cut-before-intent', 1), fresh: true, logger });
      expect(told).toContainEqual(expect.stringMatching(/is given up; nothing was paid for in it$/));
      expect(await job.failure()).toMatchObject({ code: 'CHUNKS_AMBIGUOUS' });
      const doubtful = await job.failure({}, { fresh: true });
      expect(doubtful).toMatchObject({ code: 'RUN_UNFINISHED_PAID', facts: { folios: 0 } });
      expect((doubtful as Error).message).toMatch(
        /up to \d+ of .+; \d uploads? \(\d+ records\) that may have been accepted/,
      );
      job.service.behaviour = {};
      await job.enrich({}, { fresh: true, yes: true });
    });
  });

  it('asks where all answers are here but would be bought again, and not where reuse takes them', async () => {
    await withJob({ config: price }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 6));
      expect((await plan(job, true)).next.givesUp).toMatchObject({ needsYes: true, paid: 60 });
      const error = (await job.failure({}, { fresh: true })) as FoliopipeError;
      expect(error).toMatchObject({ code: 'RUN_UNFINISHED_PAID', facts: { inVain: 60, folios: 0 } });
      expect(job.service.count('upload')).toBe(6);
      const { logger, told } = listen();
      expect(await job.enrich({}, { fresh: true, yes: true, logger })).toMatchObject({ exitCode: 0 });
      expect(told.join('\n')).toContain('60 of the 60 records paid for are paid in vain (3.00 USD)');
    });
    await withJob({ config: { ...price, ...reuse } }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 6));
      expect((await plan(job, true)).next.givesUp).toMatchObject({ needsYes: false, paid: 60 });
      expect(await job.enrich({}, { fresh: true })).toMatchObject({ exitCode: 0 });
      expect(job.service.count('upload')).toBe(6);
    });
  });
});

it.each([
  'after-publishing-before-rename',
  'after-rename-before-manifest',
  'after-manifest-before-marker',
  'after-marker-before-done',
])('a new run that is killed at %s is not paid for again by the same command', async (armed) => {
  await withLocalJob({ names: fineNames(30) }, async (job) => {
    await job.enrich();
    const fresh = ['run', job.file, '--new'];
    await killCliAt(armed, fresh);
    const { run } = await job.kept();
    expect(run.state).toBe('publishing');
    const planned = await callMain(['plan', job.file, '--new']);
    expect(planned.stdout).not.toContain('begins a new run');
    expect(await job.served()).toHaveLength(6);
    const again = await callMain(fresh);
    expect(again.code, again.stderr).toBe(0);
    expect(again.stderr).toContain('no further run of the same content is begun');
    expect((await job.kept()).run).toMatchObject({ id: run.id, state: 'done' });
    expect(await job.served()).toHaveLength(6);
    expect((await callMain(fresh)).code).toBe(0);
    expect(await job.served()).toHaveLength(9);
  });
});

const cut = { kind: 'lose', share: 0 } as const;

describe('a run that is superseded because its source has changed', () => {
  it.each([
    ['without reuse', {}, /stay on the disk for 30d \(retention\.results\), but are bought again: reuse\.m/],
    [
      'with reuse',
      reuse,
      /: nothing is paid in vain; .+ are here, and later runs take them \(reuse\.maxAge\)/,
    ],
  ])('%s: the message is true', async (_, config, text) => {
    await withJob({ config: { ...price, ...supersede, ...config } }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 3));
      const bought = job.service.folios.length * 10;
      await writeFile(job.sourcePath, sourceText(70));
      expect((await plan(job, false)).next).toMatchObject({ kind: 'begin', givesUp: { paid: bought } });
      const { logger, told } = listen();
      const summary = await job.enrich({}, { logger });
      expect(told.join('\n')).toMatch(text);
      const reused = 'reuse' in config;
      expect(summary.origins.reused.records >= bought).toBe(reused);
    });
  });

  it('began without reuse: its answers are bought again, and that is said', async () => {
    await withJob({ config: { ...price, ...supersede } }, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 3));
      await writeFile(job.sourcePath, sourceText(70));
      const { logger, told } = listen();
      const summary = await job.enrich(reuse, { logger });
      expect(told.join('\n')).toContain(
        'bought again: the run began without reuse, and its source has changed',
      );
      expect(summary.origins.reused.records).toBe(0);
    });
  });
});

const stuck: Changes = { ...price, ...supersede, poll: { timeout: '150ms' } };

describe('a run whose source has changed, with a folio that never finishes', () => {
  it('is not superseded unasked: exit 5, and what is named ends it', async () => {
    await withJob({ config: stuck }, async (job) => {
      await openRun(job);
      const uploads = job.service.count('upload');
      job.service.behaviour = { finishedAtPoll: ({ chunk }) => (chunk === 2 ? Number.POSITIVE_INFINITY : 1) };
      await writeFile(job.sourcePath, sourceText(70));
      const error = (await job.failure()) as FoliopipeError;
      expect(error).toMatchObject({ code: 'FOLIOS_TIMED_OUT', exitCode: 5 });
      expect(error.message).toContain(
        'its source has changed; superseding it now would give up what is open',
      );
      expect(error.message).toMatch(/; 1 folio \(10 records\) open at/);
      const run = String(error.facts.run);
      expect(error.hint).toContain(`foliopipe abandon --run ${run} --chunk 2`);
      expect(error.hint).toContain('foliopipe run --yes');
      expect(await statesOf(job)).toEqual(['open']);
      expect(job.service.count('upload')).toBe(uploads);
      await abandon(job.config(), { run, chunk: 2 });
      job.service.behaviour = {};
      expect(await job.enrich()).toMatchObject({ found: 'new', counts: { read: 70 } });
      expect(await statesOf(job)).toEqual(['done', 'superseded']);
    });
  });

  it('is superseded with --yes, and no command is offered that such a run refuses', async () => {
    await withJob({ config: stuck }, async (job) => {
      await openRun(job);
      await writeFile(job.sourcePath, sourceText(70));
      job.service.behaviour = { finishedAtPoll: () => Number.POSITIVE_INFINITY };
      const { logger, told } = listen();
      await job.failure({}, { yes: true, logger, ...stopAt('after-run-before-chunk', 1) });
      expect(told.join('\n')).toMatch(
        /is still PROCESSING after poll\.timeout; it is not waited for any longer/,
      );
      expect(told.join('\n')).toMatch(/is superseded, because its source has changed: .+ paid in vain/);
      expect(told.join('\n')).not.toContain('foliopipe abandon');
      expect(await statesOf(job)).toEqual(['open', 'superseded']);
    });
  });
});

it('of a published run whose retry was stopped, only what was paid for after the publication is in vain', async () => {
  await withJob({}, async (job) => {
    const { run } = await job.enrich();
    const stopped = retry(job.config(), run, stopAt('after-accepted-before-poll', 1));
    await expect(stopped).rejects.toMatchObject({ code: 'INTERRUPTED' });
    await writeFile(job.sourcePath, sourceText(70));
    const { hint } = (await job.failure()) as FoliopipeError;
    expect(hint).toMatch(
      /run --new --yes gives up what is open: 8 of the 68 records paid for are paid in vain; what was paid for before is in publication 1; 1 folio \(8 records\) open/,
    );
    expect((await plan(job, true)).next.givesUp).toMatchObject({
      inVain: { records: 8 },
      published: { publication: 1 },
    });
  });
});

it('of a published run to which a folio was adopted afterwards, that folio is in vain', async () => {
  const config = { ambiguous: { policy: 'hold' } };
  const behaviour = { trouble: firstUploadOf([2], { kind: 'lose', share: 0 }) };
  await withJob({ behaviour, config }, async (job) => {
    const { run } = await job.enrich();
    await adopt(job.config(), { run, chunk: 2, folio: folioOf(job, 2) });
    await writeFile(job.sourcePath, sourceText(70));
    const { hint } = (await job.failure()) as FoliopipeError;
    expect(hint).toMatch(
      /run --new --yes gives up what is open: 10 of the 60 records paid for are paid in vain; .* 1 folio \(10 records\) open/,
    );
    const error = await job.failure({}, { fresh: true });
    expect(error).toMatchObject({ code: 'RUN_UNFINISHED_PAID', facts: { paid: 60, inVain: 10 } });
  });
});

it('a run whose source has changed names what it would cost, and commands that work as they are', async () => {
  await withJob({ config: { ...price, ...sequential } }, async (job) => {
    await openRun(job);
    await writeFile(job.sourcePath, sourceText(70));
    const { hint } = (await job.failure()) as FoliopipeError;
    expect(hint).toMatch(/put the old file back to finish run/);
    expect(hint).toContain(
      'foliopipe run --set source.onChange=supersede fetches the open folios, and then starts a new run, which pays for their records again: reuse.maxAge is 0; or',
    );
    expect(hint).toMatch(/foliopipe run --new --yes gives up what is open: \d+ of the \d+ records paid for/);
    expect(hint).toMatch(/\d folios? \(\d+ records\) open at/);
  });
  await withJob({ config: price }, async (job) => {
    await interrupt(job, stopAt('after-run-before-chunk', 1));
    await writeFile(job.sourcePath, sourceText(70));
    const { hint } = (await job.failure()) as FoliopipeError;
    expect(hint).toMatch(
      /put the old file back .*; or start a new run: foliopipe run --new; nothing was paid for in run/,
    );
  });
});

it('the command names the exact command that passes, and plan --new says the same', async () => {
  const service = await openFakeService({ finishedAtPoll: () => Number.POSITIVE_INFINITY });
  try {
    const settings = { poll: { timeout: '200ms' }, budget: { pricePerRecord: 0.05 } };
    const job = await createJob(await folder(), { baseUrl: service.url, records: 30, settings });
    const env = { FOLIOPIPE_TOKEN: service.token };
    expect(await callMain(['submit', job.config], { env })).toMatchObject({ code: 0 });
    const asked = await callMain(['run', job.config, '--new', '--label', 'second try'], { env });
    expect(asked).toMatchObject({ code: 2 });
    const what = '30 of the 30 records paid for are paid in vain (1.50 USD); 3 folios (30 records) open';
    expect(asked.stderr).toContain(what);
    expect(asked.stderr).toContain(
      `add --yes: foliopipe run ${job.config} --new --label 'second try' --yes\n`,
    );
    const [told] = jsonLines((await callMain(['run', job.config, '--new', '--json'], { env })).stdout);
    expect(told).toMatchObject({ exitCode: 2, error: { code: 'RUN_UNFINISHED_PAID', resume: null } });
    const planned = await callMain(['plan', job.config, '--new'], { env });
    expect(planned).toMatchObject({ code: 0 });
    expect(planned.stdout).toMatch(/foliopipe run .*--new begins a new run/);
    expect(planned.stdout).toContain(what);
    expect(planned.stdout).toContain('so foliopipe run --new ends with exit 2; --yes passes');
    expect(service.count('upload')).toBe(3);
    expect(await callMain(['submit', job.config, '--new', '--yes'], { env })).toMatchObject({ code: 0 });
    expect(service.count('upload')).toBe(6);
  } finally {
    await service.close();
  }
});

it('plan --new says that answers which are here are joined first, before it counts on them', async () => {
  const finishedAtPoll = ({ chunk }: { chunk: number }) => (chunk === 1 ? 1 : Number.POSITIVE_INFINITY);
  const service = await openFakeService({ finishedAtPoll });
  try {
    const settings = { poll: { timeout: '200ms' }, reuse: { maxAge: '90d', maxMiss: '100%' } };
    const options = { pipeline: 'joins', baseUrl: service.url, records: 30, settings };
    const job = await createJob(await folder(), options);
    const env = { FOLIOPIPE_TOKEN: service.token };
    expect(await callMain(['run', job.config], { env })).toMatchObject({ code: 5 });
    const planned = await callMain(['plan', job.config, '--new'], { env });
    expect(planned.stdout).toContain('are here, and later runs take them');
    expect(planned.stdout).toMatch(/foliopipe run .*--new joins these answers to their records first/);
    const without = await callMain(['plan', job.config, '--new', '--no-reuse'], { env });
    expect(without.stdout).not.toContain('joins these answers');
  } finally {
    await service.close();
  }
});
