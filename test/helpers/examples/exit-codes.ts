/** What README.md tells a scheduler to do at each exit code. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Action = 'GO_ON' | 'RETRY' | 'FAIL';

const actions: Readonly<Record<string, Action>> = {
  'go on': 'GO_ON',
  'run again': 'RETRY',
  wait: 'RETRY',
  look: 'FAIL',
  fix: 'FAIL',
  decide: 'FAIL',
  'run later': 'FAIL',
};

/** The action by exit code. */
export async function exitActions(): Promise<Map<number, Action>> {
  const readme = await readFile(join(import.meta.dirname, '../../../README.md'), 'utf8');
  const [, section] = readme.split('## Exit codes');
  const lines = [...section!.matchAll(/^\| ([\d, ]+) \| .* \| ([^|]+) \|$/gm)];
  return new Map(
    lines.flatMap(([, codes, advice]) =>
      codes!.split(',').map((code): [number, Action] => [Number(code), actions[advice!]!]),
    ),
  );
}
