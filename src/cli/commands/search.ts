/** `foliopipe search`: searches for a single business with the service's legacy operation. */
import type { Command } from 'commander';
import { reworded, type SearchRecord, search, type TroubleError } from '../../../pipelines/index.js';
import { safeJson } from '../../text.js';
import { armFailpoint } from '../arm-failpoint.js';
import { type CommonOptions, readConfig, withCommonOptions } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { print, printJson, stderr } from '../output.js';
import { hideSecrets } from '../redact.js';
import { withEndpoint } from '../with-endpoint.js';

interface Options extends CommonOptions {
  readonly name: string;
  readonly address?: string;
  readonly state?: string;
}

export function addSearch(command: Command): void {
  command
    .argument('[file]', 'config file')
    .requiredOption('--name <text>', 'business name')
    .option('--address <text>', 'street address')
    .option('--state <text>', 'state of the business');
  withCommonOptions(command).action(async (file: string | undefined, options: Options) => {
    const failpoint = armFailpoint(process.env.FOLIOPIPE_CRASH_AT);
    const config = await readConfig(options, file);
    const logger = createLogger(options);
    await withEndpoint(config, async (service) => {
      const searching = { ...service, logger, at: failpoint };
      const { answer: given, ...found } = await search(config, searchRecord(options), searching);
      // The answer may repeat the request, which holds the token.
      const answer = hideSecrets(given);
      const text = `${safeJson(answer, 2)}\n`;
      if (found.rehearsal) logger.info('a local service has answered: nothing was paid');
      try {
        await (options.json ? printJson('summary', { answer, ...found, exitCode: 0 }) : print(text));
      } catch (error) {
        // The answer is paid for, so it is shown on stderr instead.
        stderr.write(text);
        throw reworded(error as TroubleError, { hint: PAID_AGAIN });
      }
    });
  });
}

const PAID_AGAIN =
  'the answer is paid for and printed above, on stderr: the same command would pay for it again. Free some space where stdout is written to before the next search';

function searchRecord({ name, address, state }: Options): SearchRecord {
  return { name, ...(address !== undefined && { address }), ...(state !== undefined && { state }) };
}
