/** `foliopipe check`: checks, without paying, that everything a run needs is ready. */
import type { Command } from 'commander';
import { type CheckedItem, type CheckOptions, checkSetup } from '../../../pipelines/index.js';
import { hintOf } from '../../hints.js';
import { type CommonOptions, type Finish, readConfig, withCommonOptions } from '../common-options.js';
import { print, printJson } from '../output.js';
import { nextLines, nextSteps } from '../texts/next-steps.js';
import { withEndpoint } from '../with-endpoint.js';

export function addCheck(command: Command, finish: Finish): void {
  command.argument('[file]', 'config file');
  withCommonOptions(command).action(async (file: string | undefined, options: CommonOptions) => {
    finish(await check(options, file));
  });
}

async function check(options: CommonOptions, file: string | undefined): Promise<number> {
  const config = await readConfig(options, file, 'given');
  const work = async (service: CheckOptions) => {
    let exitCode = 0;
    for await (const item of checkSetup(config, service)) {
      exitCode ||= item.error?.exitCode ?? 0;
      await printItem(item, options.json === true);
    }
    if (options.json) await printJson('summary', { ok: exitCode === 0, exitCode });
    return exitCode;
  };
  // Without `dataDir`, an embedded service gets a temporary data folder.
  return withEndpoint(config, work, { dataDir: undefined });
}

const MARKS: Readonly<Record<CheckedItem['outcome'], string>> = {
  ok: 'ok  ',
  unsure: '??  ',
  failed: 'FAIL',
};

async function printItem({ item, outcome, text, error }: CheckedItem, json: boolean): Promise<void> {
  const given = error && hintOf(error);
  const hint = given ? nextSteps(given) : null;
  if (json) {
    const ok = outcome === 'unsure' ? null : outcome === 'ok';
    await printJson('check', { item, ok, told: text, code: error?.code ?? null, hint });
  } else {
    await print(
      `${MARKS[outcome]}  ${item}: ${text}${hint === null ? '' : `\n${nextLines(hint, '      ')}`}\n`,
    );
  }
}
