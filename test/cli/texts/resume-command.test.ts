import { describe, expect, it } from 'vitest';
import { asRehearsed, resumeCommand } from '../../../src/cli/texts/resume-command.js';

const argv = (...words: string[]) => ['/usr/bin/node', '/x/cli.js', ...words];

describe('resumeCommand', () => {
  it('is the same command', () => {
    expect(resumeCommand(argv('run', '-c', 'nightly.yaml'))).toBe('foliopipe run -c nightly.yaml');
    expect(resumeCommand(argv())).toBe('foliopipe');
  });
  it('does not begin another run: it leaves out --new and its label', () => {
    const words = ['run', '--new', '--label', 'a note', 'job.yaml', '--label=b', '--json'];
    expect(resumeCommand(argv(...words))).toBe('foliopipe run job.yaml --json');
  });
  it('does not keep the --yes of --new', () => {
    expect(resumeCommand(argv('run', '--new', '--yes', '-c', 'a.yaml'))).toBe('foliopipe run -c a.yaml');
  });
  it('keeps the flags about earlier answers', () => {
    expect(resumeCommand(argv('submit', '--no-reuse', 'job.yaml', '--yes'))).toBe(
      'foliopipe submit --no-reuse job.yaml --yes',
    );
  });
  it('quotes words for the shell', () => {
    const words = [
      'run',
      '--source',
      'data/*.csv',
      '--output',
      "it's here.csv",
      '--set',
      'failures.tolerate=5%',
    ];
    expect(resumeCommand(argv(...words))).toBe(
      "foliopipe run --source 'data/*.csv' --output 'it'\\''s here.csv' --set failures.tolerate=5%",
    );
  });
});

describe('asRehearsed', () => {
  const hint = 'remove the cause and start a new run: foliopipe run --new; see them with: foliopipe runs';
  it('never names the real job in a rehearsal', () => {
    const words = ['run', 'job.yaml', '--rehearse', 'token-revoked', '--new'];
    expect(asRehearsed(hint, argv(...words))).toBe(
      'remove the cause and start a new run: foliopipe run job.yaml --rehearse token-revoked --new; see them with: foliopipe runs',
    );
    expect(asRehearsed(hint, argv('run', '--rehearse=lost-reply'))).toContain(
      'foliopipe run --rehearse=lost-reply --new',
    );
  });
  it('does not change a hint about rehearsals', () => {
    const words = ['run', '--rehearse', 'nightly.yaml'];
    const shown = 'foliopipe run FILE --rehearse SCENE: the file comes first';
    expect(asRehearsed(shown, argv(...words))).toBe(shown);
  });
  it('does not change hints outside a rehearsal', () => {
    expect(asRehearsed(hint, argv('run', 'job.yaml'))).toBe(hint);
  });
});
