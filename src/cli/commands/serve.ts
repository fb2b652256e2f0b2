/** `foliopipe serve`: the local prediction service, for rehearsals and for testing a client. */
import { randomBytes } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseSize } from '../../quantities.js';
import { wholeNumber } from '../common-options.js';
import { createLogger } from '../create-logger.js';
import { stdout } from '../output.js';
import { rememberSecrets } from '../redact.js';
import { listenForStop } from '../stop-signals.js';

interface Options {
  readonly port: number;
  readonly host: string;
  readonly token?: string;
  readonly data: string;
  readonly predictor: 'naics' | 'hash';
  readonly segmentRecords: number;
  readonly recordsPerSecond: number;
  readonly maxOpen: number;
  readonly maxUpload: number;
  readonly faults?: string;
  readonly timeScale: number;
}

export function addServe(command: Command): void {
  command
    .option('--port <number>', '0 takes a free port', wholeNumber(0, 65_535), 8787)
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option(
      '--token <token>',
      'the token that clients must send; default: FOLIOPIPE_SERVE_TOKEN, or else a random one, which is shown',
    )
    .option('--data <folder>', 'folder in which it keeps its folios', '.foliopipe-service')
    .addOption(
      new Option('--predictor <name>', 'naics ranks industries by the name; hash is for load tests')
        .choices(['naics', 'hash'])
        .default('naics'),
    )
    .option('--segment-records <number>', 'records in each part', wholeNumber(1, 10_000_000), 10_000)
    .option('--records-per-second <number>', 'its speed; 0: unlimited', wholeNumber(0, 1e9), 0)
    .option('--max-open <number>', 'most open folios; more are refused with 429', wholeNumber(1, 1e6), 1_000)
    .addOption(
      new Option('--max-upload <size>', 'largest file; larger ones are refused with 413')
        .argParser(size)
        .default(1024 ** 3, '1GB'),
    )
    .option('--faults <file>', 'YAML file of faults to inject; see docs/faults.md')
    .option(
      '--time-scale <number>',
      'how fast its time passes; at 60 an hour lasts a minute',
      wholeNumber(1, 100_000),
      1,
    )
    .action(serve);
}

async function serve(options: Options): Promise<void> {
  const given = options.token ?? process.env.FOLIOPIPE_SERVE_TOKEN;
  const token = given ?? randomBytes(12).toString('hex');
  rememberSecrets([token]);
  const logger = createLogger({ logLevel: 'info', logFormat: 'text' });
  const { openService } = await import('../../service/open-service.js');
  const { readFaults } = await import('../../service/faults/read-faults.js');
  const faults = options.faults === undefined ? undefined : await readFaults(options.faults);
  const service = await openService({
    host: options.host,
    port: options.port,
    token,
    dataDir: options.data,
    predictor: options.predictor,
    segmentRecords: options.segmentRecords,
    recordsPerSecond: options.recordsPerSecond,
    maxOpen: options.maxOpen,
    maxUploadBytes: options.maxUpload,
    timeScale: options.timeScale,
    faults,
    logger,
  });
  stdout.write(`listening on ${service.baseUrl}\n`);
  if (given === undefined) stdout.write(`token ${token}\n`);
  await new Promise<void>((stopped) => {
    const stop = listenForStop(() => stopped());
    stop.signal.addEventListener('abort', () => stop.close());
  });
  await service.close();
}

function size(text: string): number {
  const parsed = /^\d+$/.test(text) ? Number(text) : parseSize(text);
  if (parsed) return parsed;
  throw new InvalidArgumentError('expected a size such as 50MB');
}
