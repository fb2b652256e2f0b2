/** `foliopipe init`: what it writes passes `plan` at once, and what it cannot know it says. */
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '../../../pipelines/index.js';
import { chooseColumns, choosePlaces } from '../../../src/cli/init/choose.js';
import { configText } from '../../../src/cli/init/config-text.js';
import { findFormat } from '../../../src/cli/init/find-format.js';
import { withFolder } from '../../helpers/folders/folders.js';
import { callMain, expectError } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';

const rows = 'Acme Inc,12 Main St,MT\nHarbor Hardware,9 Oak Ave,ID\n';
const text = `Legal Name,Street,ST\n${rows}`;
const semicolons = text.replaceAll(',', ';');
const columns = { name: 'Legal Name', address: 'Street', state: 'ST' };

describe('foliopipe init', () => {
  it.each([
    ['plain.csv', Buffer.from(text)],
    ['semi.csv', Buffer.from(`\ufeff${semicolons}`)],
    ['tabs.tsv', Buffer.from(text.replaceAll(',', '\t'))],
    ['utf16.csv', Buffer.from(`\ufeff${semicolons}`, 'utf16le')],
    ['packed.csv.gz', gzipSync(text)],
  ])('writes a config for %s that passes plan, and check names what is missing', async (name, content) => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, name), content);
      const { code, stderr } = await callMain(['init', name], { cwd });
      expect(code, stderr).toBe(0);
      expect(stderr).toMatch(/name +Legal Name +\(sure: .*next:\n {2}foliopipe plan\n/s);
      const written = await readFile(join(cwd, 'foliopipe.yaml'), 'utf8');
      expect(written).toMatch(/^# yaml-language-server: \$schema=\S+schema\.json\n/);
      expect(parse(written)).toMatchObject({ source: { path: name }, upload: { columns } });

      const plan = await callMain(['plan'], { cwd });
      expect(plan.code, plan.stderr).toBe(0);
      expect(plan.stdout).toMatch(/1 +Acme Inc +12 Main St +MT\n/);
      const check = await callMain(['check'], { cwd });
      expect(check.stdout).toContain('service.token is missing');
      expect(check.code).toBe(2);
    });
  });

  it('writes nothing where one column seems to be several, and names the delimiter', async () => {
    await withFolder(async (cwd) => {
      // Stray quotes make the detection fail.
      await writeFile(
        join(cwd, 'stray.csv'),
        `Company;Street;St\nBroken "quote Co;2 Oak;TX\n"Open;1 Elm;CA\n`,
      );
      const refused = await callMain(['init', 'stray.csv'], { cwd });
      expect(refused).toMatchObject({ code: 2 });
      expect(refused.stderr).toMatch(
        /seems to have one column, .*";": "Company;Street;St" \[INIT_DELIMITER_UNKNOWN\]/,
      );
      expect(refused.stderr).toContain("foliopipe init stray.csv --delimiter ';'");
      expect(await readdir(cwd)).toEqual(['stray.csv']);
      expect(await callMain(['init', 'stray.csv', '--delimiter', ';'], { cwd })).toMatchObject({ code: 0 });
      const written = await readFile(join(cwd, 'foliopipe.yaml'), 'utf8');
      expect(parse(written)).toMatchObject({
        source: { delimiter: ';' },
        upload: { columns: { name: 'Company' } },
      });
    });
  });

  it('reads what R writes by the commands that it names, which need no config', async () => {
    await withFolder(async (cwd) => {
      const table =
        '"BusinessName" "Address" "State"\n"1" "Acme Inc" "12 Main St" "MT"\n"2" "Elm Farm" "9 Oak Ave" "ID"\n';
      await writeFile(join(cwd, 'r.txt'), table);
      let args = ['init', 'r.txt'];
      for (const flag of ["--delimiter ' '", '--skip-lines 1 --header none']) {
        const refused = await callMain(args, { cwd });
        expect(refused.code).toBe(4);
        expect(refused.stderr).toMatch(/next: nothing was written; (?!.*foliopipe (?:run|plan))/s);
        const [, named] = /: foliopipe (init .*?)(?: names its columns.*)?$/m.exec(refused.stderr)!;
        expect(named).toMatch(new RegExp(`${flag}$`));
        args = named!.match(/'[^']*'|\S+/g)!.map((word) => word.replaceAll("'", ''));
      }
      const { code, stderr } = await callMain([...args, '--name', 'column2'], { cwd });
      expect(code, stderr).toBe(0);
      expect((await callMain(['plan'], { cwd })).stdout).toMatch(/1 +Acme Inc/);
    });
  });

  it('says which names are there more than once, and what to do about them', async () => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'twice.csv'), `id,name,name\n1,Acme Inc,ACME\n2,Harbor Hardware,HARBOR\n`);
      const guessed = await callMain(['init', 'twice.csv'], { cwd });
      expect(guessed.stderr).toContain(
        'looks like the name of a business, except those with a doubled name: "name"; the columns are "id", "name", "name" [INIT_COLUMNS_UNKNOWN]',
      );
      expect(guessed.stderr).toContain('; doubled names: --header rename');
      const named = await callMain(['init', 'twice.csv', '--name', 'name'], { cwd });
      expect(named.stderr).toMatch(/2 columns are called "name".*add --header rename, which/s);
      expect(await readdir(cwd)).toEqual(['twice.csv']);

      const renaming = ['--header', 'rename', '--name', 'name_2'];
      expect(await callMain(['init', 'twice.csv', ...renaming], { cwd })).toMatchObject({ code: 0 });
      expect(parse(await readFile(join(cwd, 'foliopipe.yaml'), 'utf8'))).toMatchObject({
        source: { header: 'rename' },
        upload: { columns: { name: 'name_2' } },
      });
      const plan = await callMain(['plan'], { cwd });
      expect(plan.stdout).toMatch(/1 +ACME\n/);
    });
  });

  it.each(['--delimiter', '--encoding', '--skip-lines', '--header'])(
    'refuses %s for Parquet, whose config could not be read',
    async (flag) => {
      await withFolder(async (cwd) => {
        await writeFile(join(cwd, 'x.parquet'), 'PAR1');
        const { code, stderr } = await callMain(['init', 'x.parquet', flag, '1'], { cwd });
        expect(stderr).toContain(`${flag} is for CSV files, and x.parquet is Parquet [USAGE]`);
        expect(code).toBe(2);
        expect(await readdir(cwd)).toEqual(['x.parquet']);
      });
    },
  );

  it.each([
    ['--base-url', 'http://far.example', 'service.baseUrl: http:// would send token and records unencrypted'],
    ['--output', 'out.json', 'output.path: ends like a format that is not written'],
  ])('refuses a wrong %s before it looks at the file', async (flag, value, told) => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'x.csv'), text);
      const { code, stderr } = await callMain(['init', 'x.csv', flag, value], { cwd });
      expect(code).toBe(2);
      expect(stderr.startsWith(`foliopipe: ${told}`), stderr).toBe(true);
      expect(await readdir(cwd)).toEqual(['x.csv']);
    });
  });

  it('replaces no config, but with --force', async () => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'only.csv'), text);
      expect(await callMain(['init', '-c', 'n.yaml'], { cwd })).toMatchObject({ code: 0 });
      const { code, stderr } = await callMain(['init', '-c', 'n.yaml'], { cwd });
      expect(stderr).toContain('[CONFIG_EXISTS]');
      expect(code).toBe(2);
      const again = await callMain(['init', '-c', 'n.yaml', '--force', '--json', '--state', 'Street'], {
        cwd,
      });
      expect(jsonLines(again.stdout)).toMatchObject([
        { type: 'summary', config: 'n.yaml', source: 'only.csv', columns: { state: 'Street' }, exitCode: 0 },
      ]);
      expect(again.stderr).toContain('foliopipe plan -c n.yaml');
    });
  });

  it('refuses a pipe, a folder, a device and a link, as a config even with --force, and as a source', async () => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'x.csv'), text);
      for (const name of ['pipe', 'pipe.csv']) execFileSync('mkfifo', [join(cwd, name)]);
      for (const name of ['folder', 'folder.csv']) await mkdir(join(cwd, name));
      await symlink('elsewhere', join(cwd, 'link'));
      const before = await readdir(cwd);
      for (const file of ['pipe', 'folder', 'link', '/dev/null']) {
        const { code, stderr } = await callMain(['init', 'x.csv', '--force', '-c', file], { cwd });
        expect(stderr).toContain(`${file} cannot be written: it is not a regular file [CONFIG_UNWRITABLE]`);
        expect(code).toBe(2);
      }
      for (const [source, what] of [
        ['pipe.csv', 'not a regular file'],
        ['folder.csv', 'a folder'],
        ['/dev/zero', 'not a regular file'],
      ] as const) {
        const { code, stderr } = await callMain(['init', source], { cwd });
        expect(stderr).toContain(`${source}: this is ${what} [SOURCE_UNREADABLE]`);
        expect(code).toBe(4);
      }
      expect(await readdir(cwd)).toEqual(before);
    });
  });

  it('says what a second file and a missing folder mean', async () => {
    await withFolder(async (cwd) => {
      for (const name of ['a.csv', 'b.csv']) await writeFile(join(cwd, name), text);
      const two = await callMain(['init', 'a.csv', 'b.csv'], { cwd });
      expect(two.stderr).toContain(
        'next: several files are one source: name them by a pattern in quotes; see arguments and flags',
      );
      const nowhere = await callMain(['init', 'a.csv', '-c', 'new/n.yaml'], { cwd });
      expect(nowhere.stderr).toContain('new/n.yaml cannot be written: there is no folder new [');
      expect([two.code, nowhere.code]).toEqual([2, 2]);
    });
  });

  it('says which columns there are where none is the name of a business', async () => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'x.csv'), 'a,b,\u001b[31mc\n1,2,3\n');
      const { code, stderr } = await callMain(['init', 'x.csv'], { cwd });
      expect(stderr).toContain('the columns are "a", "b", "\\u{1b}[31mc" [INIT_COLUMNS_UNKNOWN]');
      expect(stderr).toContain('foliopipe init x.csv --name COLUMN --address COLUMN --state COLUMN');
      await writeFile(join(cwd, 'n.yaml'), '');
      const forced = await callMain(['init', 'x.csv', '-c', 'n.yaml', '--force'], { cwd });
      expect(forced.stderr).toContain('foliopipe init x.csv -c n.yaml --force --name COLUMN --address');
      const wrong = await callMain(['init', 'x.csv', '--name', 'A'], { cwd });
      expect(wrong.stderr).toContain('--name: there is no column "A"; the columns are "a", "b",');
      expect([code, wrong.code]).toEqual([2, 2]);
    });
  });

  it('names the command to type again with all that was typed', async () => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'x.csv'), Buffer.from(text.replace('Acme', 'Caf\u00e9'), 'latin1'));
      const flags = ['--base-url', 'https://far.example', '--name', 'Business', '--yes'];
      const { stderr } = await callMain(['init', 'x.csv', ...flags], { cwd });
      expect(stderr).toContain(
        'foliopipe init x.csv --base-url https://far.example --name Business --encoding windows-1252;',
      );
    });
  });

  it.each([
    [
      'no header',
      Buffer.from(rows),
      'holds "12 Main St"',
      '--header none',
      { path: 'x.csv', header: ['column1', 'column2', 'column3'] },
    ],
    [
      'no header, of figures',
      Buffer.from('Acme Inc,59101\nHarbor Hardware,59102\n'),
      'holds "59101"',
      '--header firm,zip',
      { header: ['firm', 'zip'] },
    ],
    [
      'another encoding',
      Buffer.from(text.replace('Acme', 'Caf\u00e9'), 'latin1'),
      'x.csv is not UTF-8',
      '--encoding windows-1252',
      { encoding: 'windows-1252' },
    ],
    [
      'another encoding in the header',
      Buffer.from(text.replace('Street', 'Stra\u00dfe'), 'latin1'),
      'x.csv is not UTF-8',
      '--encoding windows-1252',
      { encoding: 'windows-1252' },
    ],
    [
      'a title before the header',
      Buffer.from(`Export of yesterday\nby night\n${text}`),
      'after 2 lines',
      '--skip-lines 2',
      { skipLines: 2 },
    ],
    [
      "Excel's line that names the delimiter",
      Buffer.from(`SEP=;\r\n${text.replaceAll(',', ';')}`),
      'after 1 line',
      '--skip-lines 1',
      { skipLines: 1 },
    ],
  ])(
    'refuses a file with %s, and reads it with what the message names',
    async (_, content, told, cure, source) => {
      await withFolder(async (cwd) => {
        await writeFile(join(cwd, 'x.csv'), content);
        const refused = await callMain(['init', 'x.csv', '--yes'], { cwd });
        expect(refused.code).toBe(2);
        expect(refused.stderr).toContain(told);
        expect(refused.stderr).toContain(cure.split(' ')[0]);
        expect(refused.stderr).toContain('nothing was written');
        const { code, stderr } = await callMain(['init', 'x.csv', ...cure.split(' ')], { cwd });
        expect(code, stderr).toBe(0);
        expect(parse(await readFile(join(cwd, 'foliopipe.yaml'), 'utf8'))).toMatchObject({ source });
        const plan = await callMain(['plan'], { cwd });
        expect(plan.code, plan.stderr).toBe(0);
        expect(plan.stdout).toContain('2 records');
      });
    },
  );

  it('takes a header that looks like a value if a person says so, and lists what is there for a missing file', async () => {
    await withFolder(async (cwd) => {
      await writeFile(join(cwd, 'x.csv'), `Firm,12 Main St\n${'Acme Inc,9 Oak Ave\n'.repeat(2)}`);
      expect(await callMain(['init', 'x.csv'], { cwd })).toMatchObject({ code: 2 });
      expect(await callMain(['init', 'x.csv', '--header', 'first'], { cwd })).toMatchObject({ code: 0 });
      const missing = await callMain(['init', 'export.csv', '--force'], { cwd });
      expect(missing.stderr).toContain('next: files here: "x.csv"');
      expect(missing.code).toBe(4);
    });
  });

  it('names the files where there are several, and marks what must be edited where there is none', async () => {
    await withFolder(async (cwd) => {
      const example = await callMain(['init'], { cwd });
      expect(example.stderr).toContain('replace what follows EDIT:');
      expect(await readFile(join(cwd, 'foliopipe.yaml'), 'utf8')).toMatch(
        /path: data\/businesses.csv # EDIT:/,
      );
      for (const name of ['a.csv', 'b.csv']) await writeFile(join(cwd, name), text);
      const several = await callMain(['init', '--force'], { cwd });
      expect(several.stderr).toContain('there are 2 files here: "a.csv", "b.csv" [INIT_SOURCE_AMBIGUOUS]');
    });
  });

  it('writes any name of a column and of a file so that they are read again', async () => {
    await withFolder(async (folder) => {
      const config = join(folder, 'c.yaml');
      const name = fc.string({ unit: 'grapheme', minLength: 1 }).filter((one) => !one.includes('\0'));
      await fc.assert(
        fc.asyncProperty(name, name, async (column, file) => {
          const format = { delimiter: ';', skipLines: 1, header: [column, `${column}2`] };
          const example = { found: undefined, format, isExample: false };
          const source = `data/${file}`;
          const places = { baseUrl: undefined, output: 'out.csv', schema: 'x.json' };
          const first = { ...example, ...places, pipeline: 'p', source, columns: { name: column } };
          await writeFile(config, configText(first));
          const needs = 'given';
          const read = await loadConfig({ files: [config], env: {}, overrides: [], cwd: folder, needs });
          expect(read.upload.columns).toEqual({ name: column });
          expect(read.source.header).toEqual(format.header);
          expect(read.source.path).toBe(join(folder, source));
        }),
        { numRuns: 50 },
      );
    });
  });
});

describe('on a terminal', () => {
  const found = {
    files: ['x.csv'],
    bytes: 1,
    dialect: null,
    columns: ['a', 'b', 'c'],
    records: [],
    hasOtherEncoding: false,
  };
  /** Answers in this order; a bad answer is followed by the next one, as a person would. */
  const person = (...answers: readonly string[]) => {
    const left = [...answers];
    const asked: string[] = [];
    const ask: NonNullable<Parameters<typeof choosePlaces>[2]> = async ({ text, fallback, problem }) => {
      for (;;) {
        const answer = left.shift() || fallback;
        const wrong = problem?.(answer);
        asked.push(`${text} [${fallback}]${wrong === undefined ? '' : `: ${wrong}`}`);
        if (wrong === undefined) return answer;
      }
    };
    return { ask, asked };
  };

  it('asks for each column until it is one, and sends none for a dash', async () => {
    const { ask, asked } = person('x', 'b', '-', 'c');
    const chosen = await chooseColumns('x.csv', found, {}, 'x.csv', ask);
    expect(Object.entries(chosen).map(([sent, { column }]) => [sent, column])).toEqual([
      ['name', 'b'],
      ['state', 'c'],
    ]);
    expect(asked[0]).toContain('there is no column "x"');
  });

  it('asks whether the first line is the header, and for an encoding', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'x.csv');
      await writeFile(path, Buffer.from(rows.replace('Acme', 'Café'), 'latin1'));
      const { ask, asked } = person('', 'no');
      const { found, format } = await findFormat(path, {}, new AbortController().signal, ask, 'init');
      expect(asked).toEqual(['Its encoding [windows-1252]', 'Is it the header [no]']);
      expect(format).toEqual({ encoding: 'windows-1252', header: ['column1', 'column2', 'column3'] });
      expect(found.records[0]).toEqual(['Café Inc', '12 Main St', 'MT']);
    });
  });

  it('takes a file for UTF-8 that has letters of it beside damaged ones', async () => {
    await withFolder(async (cwd) => {
      const path = join(cwd, 'x.csv');
      const damaged = Buffer.from('Caf\u00e9,2 Oak St,MT\n', 'latin1');
      await writeFile(path, Buffer.concat([Buffer.from(text.replace('Acme', 'Caf\u00e9')), damaged]));
      const refused = await callMain(['init', 'x.csv'], { cwd });
      expectError(refused, 2, /x\.csv holds letters of UTF-8 and damaged ones.*--encoding utf8;/s);
      const { ask, asked } = person('');
      const { format } = await findFormat(path, {}, new AbortController().signal, ask, 'init');
      expect(asked).toEqual(['Its encoding [utf8]']);
      expect(format).toEqual({ encoding: 'utf8' });
      expect(await callMain(['init', 'x.csv', '--encoding', 'utf8'], { cwd })).toMatchObject({ code: 0 });
      expectError(await callMain(['plan'], { cwd }), 4, /record 3 .*SOURCE_ENCODING/s);
    });
  });

  it('names no other encoding for a file whose byte order mark says UTF-8', async () => {
    await withFolder(async (cwd) => {
      const mark = Buffer.from('\ufeff');
      const write = (from: string, to: string) =>
        writeFile(join(cwd, 'x.csv'), Buffer.concat([mark, Buffer.from(text.replace(from, to), 'latin1')]));
      const init = () => callMain(['init', 'x.csv', '--yes'], { cwd });
      await write('Street', 'Stra\u00dfe');
      const refused = await init();
      expectError(refused, 4, /x\.csv: header .*SOURCE_ENCODING.*byte order mark says that it is UTF-8/s);
      expect(refused.stderr).not.toContain('--encoding');
      await write('Acme', 'Caf\u00e9');
      expect(await init()).toMatchObject({ code: 0 });
      // The check of all records names the bad one.
      const planned = await callMain(['plan'], { cwd });
      expectError(planned, 4, /record 1 .*SOURCE_ENCODING.*byte order mark says that it is UTF-8/s);
    });
  });

  it('asks whether doubled names shall have numbers', async () => {
    await withFolder(async (folder) => {
      const path = join(folder, 'x.csv');
      await writeFile(path, 'id,Firm,Firm\n1,Acme Inc,ACME\n');
      const look = async (...answers: readonly string[]) => {
        const { ask, asked } = person(...answers);
        const looked = await findFormat(path, {}, new AbortController().signal, ask, 'init');
        expect(asked).toEqual(['Number them (NAME_2), in the output too [no]']);
        return looked;
      };
      expect((await look('')).format).toEqual({});
      const { found, format } = await look('yes');
      expect(format).toEqual({ header: 'rename' });
      expect(found.columns).toEqual(['id', 'Firm', 'Firm_2']);
    });
  });

  it('asks for address and output until the config takes them', async () => {
    const { ask, asked } = person(
      'http://far.example',
      'https://far.example',
      'out/x.json',
      '/etc/passwd',
      '',
    );
    expect(await choosePlaces('p', {}, ask)).toEqual({
      baseUrl: 'https://far.example',
      output: 'out/p-enriched.csv',
    });
    expect(asked[0]).toContain('http:// would send token and records unencrypted');
    expect(asked[2]).toContain('ends like a format that is not written');
    expect(asked[3]).toContain('foliopipe did not write it');
  });
});
