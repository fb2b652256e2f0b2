/** `foliopipe adopt`: binds a folio that the user found at the service to a chunk that may have been accepted. */
import type { Command } from 'commander';
import { type AdoptedChunk, adopt } from '../../../pipelines/index.js';
import { countOf } from '../../quantities.js';
import {
  type CommonOptions,
  chunkNumber,
  type Finish,
  withConfigOptions,
  withOutputOptions,
} from '../common-options.js';
import { runSession } from '../session.js';
import { type TimeOptions, withTimeOptions } from '../time-options.js';

interface Options extends CommonOptions, TimeOptions {
  readonly run: string;
  readonly chunk: number;
}

export function addAdopt(command: Command, finish: Finish): void {
  command
    .argument('<folio>', 'as the service shows it')
    .argument('[file]', 'config file')
    .requiredOption('--run <id>', 'the run that the chunk belongs to: an id, the beginning of one, or last')
    .requiredOption('--chunk <number>', "its number, as in the uploaded file's name", chunkNumber);
  withOutputOptions(withTimeOptions(withConfigOptions(command))).action(
    async (folio: string, file: string | undefined, options: Options) => {
      const { run, chunk } = options;
      finish(
        await runSession(options, file, {
          work: (config, rest) => adopt(config, { run, chunk, folio }, rest),
          text: adoptedText,
        }),
      );
    },
  );
}

function adoptedText({ run, chunk, folio, records, status, rehearsal, sample }: AdoptedChunk): string {
  const limit = sample === null ? '' : ` --limit ${sample}`;
  const what = rehearsal ? `rehearsal ${run}` : `run ${run}`;
  return `${what}: chunk ${chunk} is bound to folio ${folio} (${countOf(records, 'record')}, ${status}); the next foliopipe run${limit} collects it\n`;
}
