/** Who may be told of a run's end, and how the address of a webhook is kept secret. */
import { inspect } from 'node:util';
import { describe, expect, it, test } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { WebhookAddress } from '../../../src/config/sections/report-section.js';
import { configErrorOf, minimalWith } from '../../helpers/config/minimal-config.js';

const problemOf = async (report: unknown) =>
  (await configErrorOf(() => parseConfig(minimalWith({ report }), '/base'))).message;

describe('the address of a webhook', () => {
  const url = 'https://user:pa55word@hooks.example/services/T00/B00/s3cretpath?key=s3cretkey';

  it('shows only its scheme and host', () => {
    const address = new WebhookAddress(url);
    const shown = [`${address}`, JSON.stringify({ address }), inspect({ address }, { depth: 9 })].join(' ');
    expect(shown).toContain('https://hooks.example/[secret]');
    expect(shown).not.toMatch(/s3cret|pa55word|T00/);
    expect(address.reveal()).toBe(url);
  });

  it('names what logs must not hold, and no short text', () => {
    expect(new WebhookAddress(url).secrets()).toEqual([
      url,
      '/services/T00/B00/s3cretpath?key=s3cretkey',
      '/services/T00/B00/s3cretpath',
      's3cretkey',
      'pa55word',
    ]);
    expect(new WebhookAddress('https://hooks.example/out').secrets()).toEqual(['https://hooks.example/out']);
  });

  it.each([
    [
      'ftp://hooks.example/s3cret',
      'report.webhook: expected null, or an https:// address that takes a POST, got a text that is not shown',
    ],
    ['s3cret', 'got a text that is not shown'],
    ['http://hooks.example/s3cret', 'accepted only for localhost'],
  ])('%s is refused, and is not in the message', async (webhook, message) => {
    const text = await problemOf({ webhook });
    expect(text).toContain(message);
    expect(text).not.toContain('s3cret');
  });

  it('may be one of this machine without TLS', () => {
    const { report } = parseConfig(minimalWith({ report: { webhook: 'http://127.0.0.1:9/x' } }), '/base');
    expect(report.webhook?.reveal()).toBe('http://127.0.0.1:9/x');
  });
});

test('the text file is beside the config, and has the ending that node_exporter reads', async () => {
  const { report } = parseConfig(minimalWith({ report: { textfile: 'metrics/nightly.prom' } }), '/base');
  expect(report.textfile).toBe('/base/metrics/nightly.prom');
  expect(await problemOf({ textfile: 'nightly.txt' })).toContain('must end in .prom');
});
