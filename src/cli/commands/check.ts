/** `foliopipe check`: checks, without paying, that everything that a run needs is ready. */
import type { Command } from 'commander';
import { checkSetup } from '../../../pipelines/index.js';
import { hintOf } from '../../hints.js';
import {
  type CommonOptions,
  type Finish,
  readConfig,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { print, printJson } from '../output.js';
import { withApi } from '../with-api.js';

export function addCheck(command: Command, finish: Finish): void {
  command.argument('[file]', 'config file');
  withOutputOptions(withConfigOptions(command)).action(
    async (file: string | undefined, options: CommonOptions) => {
      finish(await check(options, file));
    },
  );
}

async function check(options: CommonOptions, file: string | undefined): Promise<number> {
  const config = await readConfig(options, file);
  // The item's result reports the client's errors, so single attempts are logged only for debugging.
  const logLevel = options.logLevel === 'debug' ? 'debug' : 'error';
  const logger = createLogger(
    { ...options, logLevel },
    config.service.embedded ? [] : [config.service.token.reveal()],
  );
  const giveUpAfter = Math.min(config.retry.giveUpAfter, maxRetryMs);
  const quick = { ...config, retry: { first: 200, max: 1_000, giveUpAfter } };
  return withApi(quick, logger, async (api, signal) => {
    let exitCode = 0;
    for await (const { item, text, error } of checkSetup(config, api, signal)) {
      exitCode ||= error?.exitCode ?? 0;
      const hint = (error && hintOf(error)) ?? null;
      if (options.json)
        await printJson('check', { item, ok: error === null, told: text, code: error?.code ?? null, hint });
      else
        await print(
          `${error === null ? 'ok  ' : 'FAIL'}  ${item}: ${text}${hint ? `\n      next: ${hint}` : ''}\n`,
        );
    }
    if (options.json) await printJson('summary', { ok: exitCode === 0, exitCode });
    return exitCode;
  });
}

/** How long `check` retries when the service does not answer. */
const maxRetryMs = 10_000;
