/** Asks a person on the terminal, one question at a time. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { isatty } from 'node:tty';
import { InterruptedError, reworded } from '../../errors.js';
import { escapeUnprintable } from '../../text.js';
import { stderr, terminalInput } from '../output.js';

interface Question {
  readonly text: string;
  /** The answer if the person types nothing. It is shown in brackets. */
  readonly fallback: string;
  /** What is wrong with an answer; undefined if nothing is. */
  readonly problem?: (answer: string) => string | undefined;
}

/** Asks a question, again and again until its answer is good. */
export type Ask = (question: Question) => Promise<string>;

/** Whether there is somebody to ask. */
export function isInteractive(): boolean {
  return isatty(0) && stderr.isTTY;
}

/**
 * Calls `use` with a function that asks.
 * @param nothing what an interruption reports, such as `nothing was written`.
 * @throws InterruptedError after Ctrl-C or Ctrl-D, whatever `use` waits for.
 */
export async function withQuestions<T>(
  use: (ask: Ask) => Promise<T>,
  nothing = 'nothing was written',
): Promise<T> {
  const output = new Writable({
    write: (text, _, done) => {
      stderr.writeStyled(String(text));
      done();
    },
  });
  const lines = createInterface({ input: terminalInput(), output, terminal: true });
  const gone = new AbortController();
  lines.once('SIGINT', () => gone.abort());
  lines.once('close', () => gone.abort());
  const ask: Ask = async ({ text, fallback, problem }) => {
    for (;;) {
      const shown = fallback === '' ? '' : ` [${escapeUnprintable(fallback)}]`;
      const typed = await lines.question(`${text}${shown}: `, { signal: gone.signal });
      const answer = typed.trim() === '' ? fallback : typed.trim();
      const wrong = problem?.(answer);
      if (wrong === undefined) return answer;
      stderr.write(`  ${wrong}\n`);
    }
  };
  try {
    return await use(ask);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
    stderr.write('\n');
    throw reworded(new InterruptedError('SIGINT'), {
      message: `interrupted: ${nothing}`,
      hint: 'type the same command again',
    });
  } finally {
    lines.close();
  }
}

/** Asks whether something is to be removed. An empty answer is no. @param nothing see `withQuestions`. */
export async function isConfirmed(text: string, nothing: string): Promise<boolean> {
  return withQuestions((ask) => isYes(ask, `${text} yes or no`, 'no'), nothing);
}

/** Asks for yes or no. @param fallback the answer if the person types nothing. */
export async function isYes(ask: Ask, text: string, fallback: 'yes' | 'no'): Promise<boolean> {
  const problem = (answer: string) => (/^(?:y|yes|n|no)$/i.test(answer) ? undefined : 'type yes or no');
  return /^y/i.test(await ask({ text, fallback, problem }));
}
