/** A queue's consumer: one message submits a file, a later one collects it. No process waits in between. */
import {
  type Config,
  collect,
  type RunOptions,
  type RunSummary,
  StillProcessingError,
  submit,
} from 'foliopipe';

export interface Message {
  readonly task: 'submit' | 'collect';
  readonly file: string;
}

export interface Queue {
  /** Adds a message that is delivered after so many seconds, once or more often. */
  send(message: Message, afterSeconds: number): Promise<void>;
}

/** How long to wait before the service is asked again. */
const PAUSE_SECONDS = 300;

/**
 * Handles a message. If it throws, the queue delivers the message again, and nothing is lost or paid twice. The same holds
 * for a message that is delivered twice.
 * @param configOf the config for a file, with a pipeline of its own, so that many files can be in progress.
 * @returns the summary when the file is done; else undefined.
 */
export async function handle(
  message: Message,
  queue: Queue,
  configOf: (file: string) => Config,
  options: RunOptions = {},
): Promise<RunSummary | undefined> {
  const config = configOf(message.file);
  if (message.task === 'submit') {
    await submit(config, options);
    await queue.send({ ...message, task: 'collect' }, PAUSE_SECONDS);
    return undefined;
  }
  try {
    return await collect(config, { ...options, wait: false });
  } catch (error) {
    if (!(error instanceof StillProcessingError)) throw error;
    await queue.send(message, PAUSE_SECONDS);
    return undefined;
  }
}
