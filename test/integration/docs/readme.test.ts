/** The examples of README.md, docs/local-service.md and docs/embedding.md work as they stand there. */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { loadConfig } from '../../../pipelines/index.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { type CliProcess, spawnCli } from '../../helpers/processes/cli.js';

const run = promisify(execFile);
const root = new URL('../../../', import.meta.url);
const folder = useSharedFolder();
let pages: string;
let serve: CliProcess;
let address: string;

/** The only code block of a language that contains a text. */
function block(language: string, text: string): string {
  const blocks = [...pages.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(
    ([, code]) => code!,
  );
  const found = blocks.filter((code) => code.includes(text));
  expect(found, `${language} blocks with ${text}`).toHaveLength(1);
  return found[0]!;
}

beforeAll(async () => {
  const names = ['README.md', 'docs/local-service.md', 'docs/embedding.md'];
  pages = (await Promise.all(names.map((name) => readFile(new URL(name, root), 'utf8')))).join('\n');
  const commands = [...pages.matchAll(/```sh\n(npx) (foliopipe) (serve .*)\n```/g)];
  expect(new Set(commands.map(([, ...words]) => words.join(' ')))).toHaveLength(1);
  const [, npx, command, ...args] = commands[0]!;
  expect([npx, command]).toEqual(['npx', 'foliopipe']);
  const typed = args[0]!.replace('8787', '0').split(' ');
  serve = spawnCli([...typed, '--data', join(await folder(), 'service')]);
  address = (await serve.waitFor('stdout', /^listening on (\S+)\n/))[1]!;
});
afterAll(async () => {
  serve.kill('SIGTERM');
  await serve.ended;
});

describe('the curl commands', () => {
  it('upload, track, download and search', async () => {
    const commands = block('sh', '$B/external/upload').trimEnd().split('\n');
    const [base, ...others] = commands.map((line) => line.replace('http://127.0.0.1:8787', address));
    const cwd = await folder();
    let folio = 'FOLIO';
    const type = async (command: string): Promise<unknown> => {
      const script = `${base}\n${command.replace('FOLIO', folio)}`;
      const { stdout } = await run('bash', ['-c', script], { cwd });
      return stdout === '' ? undefined : JSON.parse(stdout);
    };
    const [makeFile, upload, info, successful, failed, search] = others as [
      string,
      string,
      string,
      string,
      string,
      string,
    ];
    expect(others).toHaveLength(6);

    await type(makeFile);
    const uploaded = (await type(upload)) as { response: { folio: string } };
    expect(uploaded).toMatchObject({
      response: { status: 'PROCESSING', totalRecords: 2, fileName: 'two.csv' },
    });
    folio = uploaded.response.folio;
    await expect
      .poll(() => type(info))
      .toMatchObject({
        response: {
          description: 'by-hand',
          records: 2,
          progressInfo: { status: 'FINISHED', successfulRecords: 1, failedRecords: 1 },
        },
      });
    const contentOf = async (command: string) => {
      const { response } = (await type(command)) as { response: { content: string } };
      return parse(Buffer.from(response.content, 'base64'), { columns: true }) as Record<string, string>[];
    };
    const [dentist] = await contentOf(successful);
    expect(dentist).toMatchObject({
      name: 'Bitterroot Dental Clinic',
      naics_title: expect.stringMatching(/dent/i),
    });
    expect(await contentOf(failed)).toMatchObject([
      { name: 'Zzyzx Qwrt', reason: expect.stringMatching(/./) },
    ]);
    expect(await type(search)).toMatchObject({
      response: { naics_code: expect.stringMatching(/^\d{6}$/), confidence: expect.any(Number) },
    });
  });
});

describe('your first real job', () => {
  it('works as typed, from the first line to an enriched file', async () => {
    const cwd = join(await folder(), 'first');
    await mkdir(join(cwd, 'data'), { recursive: true });
    await writeFile(join(cwd, 'data/businesses.csv'), await readFile(new URL('data/businesses.csv', root)));
    const lines = block('sh', 'foliopipe init')
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/ +#.*$/, '').replace('http://127.0.0.1:8787', address));
    const [, name, value] = /^export (\w+)=(\w+)$/.exec(lines.shift()!)!;
    for (const line of lines) {
      const [npx, foliopipe, ...words] = line.split(' ');
      expect([npx, foliopipe]).toEqual(['npx', 'foliopipe']);
      const { code, stderr } = await callMain(words, { cwd, env: { [name!]: value! } });
      expect(code, `${line}\n${stderr}`).toBe(0);
    }
    const output = join(cwd, 'out/businesses-enriched.csv');
    const rows = parse(await readFile(output), { columns: true });
    expect(rows).toHaveLength(1000);
    expect(parse(await readFile(`${output}.sample.csv`), { columns: true })).toEqual(rows.slice(0, 100));
    const written = parseYaml(await readFile(join(cwd, 'foliopipe.yaml'), 'utf8'));
    const shown = parseYaml(block('yaml', 'pipeline: businesses').replace('http://127.0.0.1:8787', address));
    expect(written).toEqual(shown);
  });

  it('changes to another service by the values that the page names', async () => {
    const file = join(await folder(), 'smallest.yaml');
    const yaml = block('yaml', 'pipeline: businesses');
    await writeFile(file, yaml.replace('http://127.0.0.1:8787', 'https://predictions.example.com'));
    const config = await loadConfig({
      files: [file],
      env: { FOLIOPIPE_TOKEN: 'secret' },
      overrides: [],
      cwd: '/',
    });
    expect(config).toMatchObject({
      pipeline: 'businesses',
      source: { path: join(await folder(), 'data/businesses.csv') },
      upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
      service: { embedded: false, baseUrl: 'https://predictions.example.com' },
      output: { path: join(await folder(), 'out/businesses-enriched.csv') },
    });
  });

  it('takes the lines of docs/local-service.md', async () => {
    const cwd = join(await folder(), 'try');
    await mkdir(join(cwd, 'data'), { recursive: true });
    await writeFile(join(cwd, 'data/businesses.csv'), await readFile(new URL('data/businesses.csv', root)));
    const own = block('yaml', 'pipeline: businesses').replace(/service:\n(?: .*\n)+/, '');
    const local = block('yaml', 'token: demo').replace('http://127.0.0.1:8787', address);
    await writeFile(join(cwd, 'foliopipe.yaml'), `${own}${local}poll: { first: 50ms, max: 100ms }\n`);
    expect(await callMain(['run'], { cwd })).toMatchObject({ code: 0 });
  });

  it('and the program that embeds the library do the job', async () => {
    const cwd = join(await folder(), 'embed');
    await mkdir(join(cwd, 'data'), { recursive: true });
    await writeFile(
      join(cwd, 'data/businesses.csv'),
      'BusinessName,Address,State\nBitterroot Dental Clinic,12 Main St,MT\nRed Rock Daycare,1 Oak Ave,MT\n',
    );
    const yaml = block('yaml', 'pipeline: businesses').replace('http://127.0.0.1:8787', address);
    await writeFile(join(cwd, 'foliopipe.yaml'), `${yaml}poll: { first: 50ms, max: 100ms }\n`);
    const library = new URL('dist/bundle/index.js', root).href;
    const program = block('ts', 'enrich, FoliopipeError').replace("'foliopipe'", JSON.stringify(library));
    await writeFile(join(cwd, 'program.mjs'), program);

    const env = { PATH: process.env.PATH, FOLIOPIPE_TOKEN: 'demo' };
    const well = await run(process.execPath, ['program.mjs'], { cwd, env });
    expect(well.stderr).toBe('');
    expect(well.stdout).toContain('read: 2');
    expect(well.stdout).toContain(join(cwd, 'out/businesses-enriched.csv'));
    const rows = parse(await readFile(join(cwd, 'out/businesses-enriched.csv')), { columns: true });
    expect(rows).toMatchObject([
      { BusinessName: 'Bitterroot Dental Clinic', prediction_status: 'SUCCESSFUL' },
      { BusinessName: 'Red Rock Daycare', prediction_status: 'SUCCESSFUL' },
    ]);

    const watched = block('ts', 'for await (const event of job)').replace(
      "'foliopipe'",
      JSON.stringify(library),
    );
    await writeFile(join(cwd, 'watched.mjs'), watched);
    const other = { ...env, FOLIOPIPE_PIPELINE: 'watched', FOLIOPIPE_OUTPUT__PATH: 'watched.csv' };
    const { stdout } = await run(process.execPath, ['watched.mjs'], { cwd, env: other });
    expect(stdout).toMatch(
      /^(2 records checked\n)+(\d of 2 records answered\n)*published at \S*watched\.csv\n(2 of 2 records answered\n)+exit code 0\n$/,
    );

    await writeFile(join(cwd, 'data/businesses.csv'), 'BusinessName,Address,State\n"never closed,1,MT\n');
    const badly = await run(process.execPath, ['program.mjs'], { cwd, env });
    expect(badly.stderr).toMatch(/^SOURCE_\w+ 4 \S/);
  });
});

it('the list of stages is the one of pipelines/answer-source.ts, and what follows is in enrich.ts', async () => {
  const read = async (name: string) => {
    const text = await readFile(new URL(`pipelines/${name}.ts`, root), 'utf8');
    return text.replaceAll(/^ +/gm, '');
  };
  const [stages, rest] = block('ts', 'await runStages(').replaceAll(/^ +/gm, '').split('await answerFailed');
  const named = stages!.replace('await', 'return').replace('appendMerged(run)', 'sink');
  expect((await read('answer-source')).replace('mergeResults(run, options)', 'mergeResults(run)')).toContain(
    named,
  );
  expect(await read('enrich')).toContain(
    `await answerSource(run, appendMerged(run));\nawait answerFailed${rest}`,
  );
});
