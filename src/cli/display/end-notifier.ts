/**
 * Reports how a command on a run has ended, with the metrics and the webhook of the config's section `report`. Adds
 * what only this process knows.
 */
import {
  type Config,
  createOutputStore,
  createRunMeasure,
  describeEnd,
  type Logger,
  notifyEnd,
  openStateReader,
  type RunMeasure,
  type RunOptions,
  type RunSummary,
  receiversOf,
  summarizeRun,
} from '../../../pipelines/index.js';
import { hideSecrets } from '../redact.js';
import { describeFailure } from '../texts/report-failure.js';

interface EndNotifier {
  readonly measure: RunMeasure;
  /** Remembers the run, because an error does not name it. */
  onRun(run: string): void;
  ended(summary: RunSummary, exitCode: number): Promise<void>;
  failed(thrown: unknown): Promise<void>;
}

interface EndNotifierOptions extends Pick<RunOptions, 'proxies' | 'signal'> {
  readonly logger: Logger;
}

/** Never throws. Does nothing if the config names no receiver. */
export function createEndNotifier(config: Config, { logger, ...options }: EndNotifierOptions): EndNotifier {
  const measure = createRunMeasure();
  const began = Date.now();
  let run: string | undefined;
  const notify = async (facts: Pick<Parameters<typeof describeEnd>[1], 'exitCode' | 'error' | 'summary'>) => {
    if (receiversOf(config.report).length === 0) return;
    const reader = (await openStateReader(config).catch(() => undefined)) ?? null;
    try {
      const summary = facts.summary ?? (reader && run ? await summaryOf(config, reader, run) : null);
      const thisProcess = measure.figures();
      const end = hideSecrets(
        describeEnd(config, { ...facts, summary, thisProcess, run, began, ended: Date.now() }),
      );
      await notifyEnd(config, end, { ...options, reader, logger });
    } finally {
      await reader?.close().catch(() => undefined);
    }
  };
  return {
    measure,
    onRun: (id) => {
      run = id;
    },
    ended: (summary, exitCode) => notify({ summary, exitCode }),
    failed: (thrown) => {
      const { exitCode, shown } = describeFailure(thrown);
      return notify({ summary: null, exitCode, error: shown });
    },
  };
}

/** The summary of a run that has ended with an error; null if it cannot be read. */
async function summaryOf(
  config: Config,
  checkpoint: NonNullable<Awaited<ReturnType<typeof openStateReader>>>,
  run: string,
): Promise<RunSummary | null> {
  const output = createOutputStore(config, { attempts: 1 });
  return summarizeRun({ checkpoint, output, config }, run, 'continued').catch(() => null);
}
