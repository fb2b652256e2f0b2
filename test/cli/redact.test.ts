/** Secrets are hidden in whatever form they stand, and what was JSON stays JSON. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { hideSecrets, redactLine, rememberSecrets } from '../../src/cli/redact.js';
import { rememberCommand } from '../../src/cli/texts/next-steps.js';
import { describeFailure } from '../../src/cli/texts/report-failure.js';
import { flagSettings } from '../../src/config/flag-settings.js';
import { Problems } from '../../src/config/problems.js';
import { ConfigError } from '../../src/errors.js';
import { createRedact } from '../../src/hide-secrets.js';

afterEach(() => {
  rememberCommand([]);
  rememberSecrets();
});

describe('a secret', () => {
  it('that equals a number or one letter leaves numbers, names and other words unchanged', () => {
    const record = { level: 30, bytes: 248, token: '248', msg: 'https://external/1 has 248 bytes' };
    rememberSecrets(['248', 'x', '1']);
    expect(JSON.parse(redactLine(JSON.stringify(record)))).toEqual({ ...record, token: '[secret]' });
  });

  it('is found percent-encoded, as a form sends it, decoded, and in JSON within a text', () => {
    const secret = 'a"b\\c d/ä';
    const texts = [
      secret,
      encodeURIComponent(secret),
      encodeURI(secret),
      JSON.stringify({ secret }),
    ] as const;
    const shown = createRedact([secret])([...texts, 'a%22b%5Cc+d%2F%C3%A4']);
    expect(shown.slice(0, 3)).toEqual(['[secret]', '[secret]', '[secret]']);
    expect(shown[3]).toBe('{"secret":"[secret]"}');
    expect(shown[4]).toBe('[secret]');
    expect(createRedact(['/p%C3%A4th?k=1'])('see /päth?k=1')).toBe('see [secret]');
  });

  it('of any kind keeps a line of JSON valid', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), fc.json(), (secrets, json) => {
        rememberSecrets(secrets);
        JSON.parse(redactLine(json));
      }),
    );
  });
});

describe('a secret in a flag', () => {
  const webhook = 'report.webhook=https://hooks.example/services/s3cretpath';

  it('is refused with the way that works', () => {
    const problemsOf = (value: string) => {
      const problems = new Problems();
      flagSettings([{ key: 'report.webhook', value, baseDir: '/', origin: '--set' }], problems);
      try {
        problems.throwIfAny();
        return '';
      } catch (error) {
        return (error as ConfigError).message;
      }
    };
    expect(problemsOf('https://hooks.example/s3cret')).toMatch(/FOLIOPIPE_WEBHOOK/);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference to a variable.
    expect([problemsOf('${WH}'), problemsOf('null'), problemsOf('https://hooks.example')]).toEqual([
      '',
      '',
      '',
    ]);
  });

  it('appears nowhere in what the failed command reports', () => {
    const argv = ['node', 'foliopipe', 'run', '--set', webhook];
    rememberCommand(argv);
    rememberSecrets();
    const error = new ConfigError('CONFIG_INVALID', 'wrong', {
      hint: `type foliopipe ${argv.slice(2).join(' ')}`,
      facts: { argv: argv.join(' ') },
    });
    expect(JSON.stringify(describeFailure(error).shown)).not.toContain('s3cretpath');
    expect(hideSecrets(argv.at(-1))).toBe('report.webhook=[secret]');
  });
});
