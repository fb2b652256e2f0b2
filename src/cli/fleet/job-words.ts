/**
 * Words the messages of a job's run for those who have enqueued it. The process of the run has a config file of its
 * own, which is removed afterwards, and the same command is not typed again: the job is put back.
 */

import { isRepeated, type RunEnd } from '../../fleet/after-run.js';
import type { RunJob } from '../../fleet/job.js';
import { quoteForShell } from '../../text.js';

type Words = Pick<RunJob, 'pipeline' | 'from'>;

/**
 * @param file the config file of the process.
 * @param host the machine of the worker.
 */
export function problemInJobWords(
  { code, message, hint }: NonNullable<RunEnd['error']>,
  exitCode: number | null,
  job: Words,
  { file, host }: { readonly file: string; readonly host: string },
): NonNullable<RunEnd['error']> {
  const rewritten = inJobWords(message, job, file, exitCode);
  const unset = [...new Set([...message.matchAll(UNSET)].map(([, name]) => name!))];
  if (unset.length > 0) {
    return {
      code,
      message: rewritten.replaceAll(UNSET, `$& for the worker on ${host}`),
      hint: `stop the workers, set ${unset.join(' and ')} where they are started, start them again; then: ${putBack(job)}`,
    };
  }
  const own = hint === null ? null : inJobWords(hint, job, file, exitCode);
  const isToken = exitCode === 7 && own !== null;
  return {
    code,
    message: rewritten,
    hint: isToken ? `${own}; a variable is that of the worker, which reads it when it starts` : own,
  };
}

const UNSET = /\bthe variable (\w+) is not set\b/g;

/**
 * A text of a run with the config that was enqueued, and with commands of a fleet.
 * @param exitCode with which the run has ended; left out while it is not known.
 */
export function inJobWords(text: string, job: Words, file: string, exitCode?: unknown): string {
  const { files } = job.from;
  const named = files.length === 0 ? 'the config' : files.join(' and ');
  const flags = files.map((one) => `-c ${quoteForShell(one)}`).join(' ');
  return (
    [`-c ${quoteForShell(file)}`, `-c ${file}`]
      .reduce((all, found) => all.replaceAll(found, () => flags), text)
      .split(file)
      // The line is one of the file that is gone.
      .map((part, at) => (at === 0 ? part : part.replace(/^:\d+/, '')))
      .join(named)
      .replaceAll(/\bfoliopipe run\b(?![^;,\n`]* --(?:new|limit|rehearse)\b)/g, 'foliopipe enqueue')
      .replaceAll(/\b(?:run|type|start) the same command(?: again)?\b/g, () =>
        isRepeated(exitCode) ? 'wait until the worker does it again' : `put it back with: ${putBack(job)}`,
      )
      .replaceAll(/\badd --yes\b/g, () => `type ${putBack(job, '--yes ')}`)
  );
}

function putBack({ pipeline }: Words, flags = ''): string {
  return `foliopipe enqueue --again ${flags}${pipeline}`;
}
