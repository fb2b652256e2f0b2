/** `foliopipe load`: loads the publication of a run into the database of `load.into`. */
import { type Command, Option } from 'commander';
import { load, type PrintDialect, printDialects, printRunLoad } from '../../../pipelines/index.js';
import {
  type CommonOptions,
  type Finish,
  readConfig,
  runAndFile,
  withCommonOptions,
} from '../common-options.js';
import { print } from '../output.js';
import { runSession } from '../session.js';
import { loadText } from '../texts/load-text.js';

interface Options extends CommonOptions {
  readonly print?: PrintDialect;
}

export function addLoad(command: Command, finish: Finish): void {
  command
    .argument('[run]', 'id of the run, the beginning of one, or last (the default)')
    .argument('[file]', 'config file')
    .addOption(
      new Option('--print <dialect>', 'print the statements that would load it, and ask no database')
        .choices(printDialects)
        .conflicts('json'),
    );
  withCommonOptions(command).action(
    async (first: string | undefined, second: string | undefined, options: Options) => {
      const [run, file] = runAndFile(first, second);
      if (options.print !== undefined) {
        await print(await printRunLoad(await readConfig(options, file, 'database'), run, options.print));
        return;
      }
      finish(
        await runSession(options, file, {
          work: (config, rest) => load(config, run, rest),
          text: (loaded) => `run ${loaded.run}: ${loadText(loaded)}\n`,
          needs: 'database',
        }),
      );
    },
  );
}
