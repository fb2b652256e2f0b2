/** Commands that are printed for a person to type. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { adoptCommand } from '../../src/report/adoptable.js';

it('a folio is one word of the command, whatever the service has called it', () => {
  expect(adoptCommand('R', 3, 'F-1')).toBe('foliopipe adopt --run R --chunk 3 F-1');
  for (const folio of ['$(id)', "a';id;'", '`id`', 'a|b', '~', '*', '\\']) {
    const typed = adoptCommand('R', 3, folio).replace(/^foliopipe/, 'printf "%s\\n"');
    const words = execFileSync('sh', ['-c', typed]).toString().trimEnd().split('\n');
    expect(words).toEqual(['adopt', '--run', 'R', '--chunk', '3', folio]);
  }
});
