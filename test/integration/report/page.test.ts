/**
 * The page of a report in a real browser: its numbers are those of the manifest, it asks for nothing, and what the service
 * and the source say stays text.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import chromium from '@sparticuz/chromium';
import { type Browser, type Page, chromium as playwright } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { reportRun, writeReport } from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { readRaw, sourceText } from '../../helpers/jobs/sample-source.js';

const script = '<script>window.hacked = 1</script>';
const quotes = `]]>"'&lt;--><b>`;
const image = '"><img src=x onerror="window.hacked = 2">';
const file = '<img src=x onerror=window.hacked=3>.csv';
const behaviour: Behaviour = {
  answer: ({ name = '' }, index) =>
    name.includes('Failing')
      ? { status: 'FAILED', added: { reason: index % 2 === 0 ? script : image } }
      : {
          status: 'SUCCESSFUL',
          added: {
            naics_code: [image, script, quotes, '722511'][index % 4]!,
            confidence: `0.${index % 10}`,
          },
        },
};
const setup = {
  behaviour,
  files: { [file]: sourceText(1000) },
  config: {
    chunks: { maxRecords: 100 },
    source: { path: `./${file}` },
    result: { report: { code: 'naics_code', confidence: 'confidence' } },
    budget: { pricePerRecord: 0.5 },
    report: { html: 'out/report.html' },
  },
};

describe('the page of a report', () => {
  let browser: Browser;
  beforeAll(async () => {
    const executablePath = await chromium.executablePath();
    // A browser in a single process ends with its last page.
    const args = chromium.args.filter((arg) => arg !== '--single-process');
    browser = await playwright.launch({ args, executablePath, headless: true });
  });
  afterAll(() => browser?.close());

  /** Opens a page, and expects that it stays quiet: no request besides its own, no message, no error. */
  async function open(job: Job, use: (page: Page) => Promise<void>): Promise<void> {
    const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
    const url = pathToFileURL(path.join(job.folder, 'out', 'report.html')).href;
    const noise: string[] = [];
    page.on('console', (message) => noise.push(message.text()));
    page.on('pageerror', (error) => noise.push(String(error)));
    page.on('request', (request) => request.url() !== url && noise.push(request.url()));
    await page.goto(url);
    await use(page);
    await page.close();
    expect(noise).toEqual([]);
  }

  it('has the numbers of the manifest, and no script but its own', () =>
    withJob(setup, async (job) => {
      await job.enrich();
      const summary = await job.enrich({}, { fresh: true });
      const manifest = await job.manifest();
      const rows = readRaw(await job.output()).map(({ record }) => record);
      const good = rows.filter((row) => row.prediction_status === 'SUCCESSFUL');
      const shareOf = (text: string) => good.filter((row) => row.prediction_naics_code === text).length;
      await open(job, async (page) => {
        const number = async (name: string) =>
          Number(
            (await page.locator(`[data-number="${name}"]`).textContent())!.split(' ')[0]!.replace(',', ''),
          );
        for (const name of ['read', 'successful', 'failed'] as const) {
          expect(await number(name), name).toBe(manifest.counts[name]);
        }
        expect(await number('uploads')).toBe(manifest.uploads.accepted);
        expect(await number('paid for')).toBe(1000);
        expect(await page.locator('#chunks tbody tr').count()).toBe(manifest.chunks.length);
        const cells = (id: string, column: number) =>
          page.locator(`#${id} details tbody td:nth-child(${column})`).allTextContents();
        const records = (await cells('failures', 3)).map(Number);
        expect(records.reduce((sum, one) => sum + one, 0)).toBe(manifest.counts.failed);
        expect((await cells('failures', 1)).sort()).toEqual([image, script].sort());
        const codes = await cells('codes', 1);
        // The drawings say the same as the tables.
        const drawn = (id: string) => page.locator(`#${id} .wide svg text`).allTextContents();
        expect(await drawn('codes')).toEqual(expect.arrayContaining([image, script, quotes]));
        expect(await drawn('failures')).toEqual(expect.arrayContaining([image, script]));
        expect([...codes].sort()).toEqual([image, script, quotes, '722511'].sort());
        expect((await cells('codes', 2)).map(Number)).toEqual(codes.map(shareOf));
        expect(await page.locator('dl.facts').textContent()).toContain(file);
        expect(await page.title()).toBe(`hostile · run ${summary.run}`);
        expect(await page.locator('#spend details tbody td:nth-child(2)').allTextContents()).toEqual([
          '2,000',
        ]);
        expect(await page.locator('#nights tbody tr').count()).toBe(2);
        const inside = await page.evaluate(`({
          hacked: window.hacked ?? null,
          scripts: document.scripts.length,
          images: document.images.length,
          unnamed: [...document.querySelectorAll('svg')].filter((svg) =>
            !svg.querySelector('title')?.textContent || !svg.querySelector('desc')?.textContent).length,
          drawings: document.querySelectorAll('svg').length,
        })`);
        expect(inside).toEqual({ hacked: null, scripts: 1, images: 0, unnamed: 0, drawings: 18 });
      });
    }));

  it('says the same times and shares everywhere, and at the top what to type after exit 3', () =>
    withJob(setup, async (job) => {
      await job.enrich();
      const options = { fresh: true, completeText: (text: string) => `${text} -c night.yaml` };
      const strict = { failures: { tolerate: '1%' }, chunks: { maxRecords: 1000 } };
      const summary = await job.enrich(strict, options);
      expect(summary.exitCode).toBe(3);
      const { failed, read } = summary.counts;
      const share = `${Math.round((1000 * failed) / read) / 10}%`;
      await open(job, async (page) => {
        const text = (place: string) => page.locator(place).first().textContent();
        const next = (await text('#next'))!;
        expect(next).toContain(`Exit 3: ${failed} of 1,000 records failed (${share})`);
        expect(next).toContain(
          `Next: foliopipe retry ${summary.run} -c night.yaml sends ${failed} failed records`,
        );
        const topOf = async (place: string) => (await page.locator(place).first().boundingBox())!.y;
        expect(await topOf('#next')).toBeLessThan(await topOf('dl.numbers'));
        expect(await text('[data-number="failed"]')).toBe(`${failed} ${share}`);
        expect(await text('#failures figcaption p')).toContain(`(${share})`);
        expect(await text('#nights .small p')).toMatch(new RegExp(`^${share}, usually`));
        const [, time] = /, after ([^,]+)$/.exec((await text('dl.facts dd:nth-of-type(2)'))!)!;
        expect(await text('#timeline figcaption p')).toContain(`(${time}, UTC)`);
        const row = page.locator('#nights tbody tr').first();
        expect(await row.locator('td').nth(3).textContent()).toBe(share);
        expect(await row.locator('td').nth(6).textContent()).toBe(time);
        // The labels of a short night's axis differ.
        const labels = await page
          .locator('#timeline .wide [aria-label="x-axis tick label"] text')
          .allTextContents();
        expect(new Set(labels).size).toBe(labels.length);
      });
    }));

  it('sorts its chunks, fits a phone, and says what an unfinished run lacks', () => {
    const trouble: Behaviour['trouble'] = ({ operation, nth }) =>
      operation === 'upload' && nth > 3 ? { kind: 'answer', status: 402 } : undefined;
    return withJob({ ...setup, behaviour: { ...behaviour, trouble } }, async (job) => {
      const noCodes = { result: { report: { code: null, confidence: null } } };
      expect(await job.failure(noCodes)).toMatchObject({ code: 'QUOTA_REFUSED', exitCode: 7 });
      await open(job, async (page) => {
        expect(await page.locator('.status').textContent()).toBe('stopped');
        expect(await page.locator('.box').first().textContent()).toContain('QUOTA_REFUSED');
        expect(await page.locator('#codes').textContent()).toContain('result.report');
        const numbers = () => page.locator('#chunks tbody td:first-child').allTextContents();
        const before = await numbers();
        await page.locator('#chunks th button').first().click();
        expect(await numbers()).toEqual([...before].reverse());
        expect(await page.locator('#chunks th').first().getAttribute('aria-sort')).toBe('descending');
        for (const colorScheme of ['dark', 'light'] as const) {
          await page.emulateMedia({ colorScheme });
          await page.setViewportSize({ width: 375, height: 700 });
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(375);
          expect(await page.locator('figure .wide').first().isVisible()).toBe(false);
          expect(await page.locator('figure .narrow').first().isVisible()).toBe(true);
        }
        await page.emulateMedia({ media: 'print' });
        expect(await page.locator('figure .wide').first().isVisible()).toBe(true);
      });
    });
  });
});

it('a page is the same for the same facts, and small', () =>
  withJob(setup, async (job) => {
    await job.enrich({ report: { html: null } });
    const clock = { now: () => 1_800_000_000_000, sleep: () => Promise.resolve() };
    const report = await reportRun(job.config(), 'last', { clock });
    const paths = ['a.html', 'b.html'].map((name) => path.join(job.folder, name));
    // A name that a person may have given to another file.
    const others = path.join(job.folder, 'a.html.tmp');
    await writeFile(others, 'mine');
    for (const one of paths) await writeReport(report, one, 0o640);
    expect(await readFile(others, 'utf8')).toBe('mine');
    expect((await readdir(job.folder)).filter((name) => name.includes('.partial'))).toEqual([]);
    const [a, b] = await Promise.all(paths.map((one) => readFile(one, 'utf8')));
    expect(a).toBe(b);
    expect(a?.length).toBeLessThan(200_000);
  }));
