/**
 * Words the messages of a job's run for the person who has enqueued it. The run reads a temporary config file, which
 * the person does not know, and is not continued by typing the same command: its job is put back.
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
    hint: isToken ? `${own}; a variable must be set for the worker, which reads it when it starts` : own,
  };
}

const UNSET = /\bthe variable (\w+) is not set\b/g;

/**
 * Names the enqueued config in a text of a run in place of the temporary one, and commands of a fleet.
 * @param exitCode the exit code of the run; left out while it is not known.
 */
export function inJobWords(text: string, job: Words, file: string, exitCode?: unknown): string {
  const { files } = job.from;
  const named = files.length === 0 ? 'the config' : files.join(' and ');
  const flags = files.map((one) => `-c ${quoteForShell(one)}`).join(' ');
  return (
    [`-c ${quoteForShell(file)}`, `-c ${file}`]
      .reduce((all, found) => all.replaceAll(found, () => flags), text)
      .split(file)
      // A line number would be one of the temporary file.
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
