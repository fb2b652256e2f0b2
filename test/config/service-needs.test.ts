/** Commands that ask no service, tell nobody and load nothing go without what they do not use. */
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: references to variables.
const values = {
  pipeline: 'p',
  'source.path': 'a.csv',
  'upload.columns.name': 'Name',
  'output.path': 'out.csv',
  'report.webhook': '${WH}',
  'report.html': '${HTML}',
  'load.into': '${DB}',
  'load.table': 't',
  'load.mode': 'replace',
  'service.embedded': 'true',
};
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: only above.
const overrides = Object.entries(values).map(([key, value]) => ({
  key,
  value,
  baseDir: '/base',
  origin: '--set',
}));
const load = (needs: 'nothing' | 'preview' | 'given') =>
  loadConfig({ files: [], env: {}, overrides, cwd: '/base', needs });

it('excuses unset variables of report and load where they are not used', async () => {
  for (const needs of ['nothing', 'preview'] as const) {
    const { report, load: section } = await load(needs);
    expect([report.webhook, report.html, section?.into]).toEqual([null, null, null]);
  }
  await expect(load('given')).rejects.toThrow(/WH is not set/);
});
