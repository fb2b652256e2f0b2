/** Whether this process was started so that SIGHUP is nothing to it: `nohup foliopipe run`. */
import { readFileSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/**
 * Node gives every signal that was ignored when it began its default action back, and nothing tells afterwards which
 * one was. So nohup is known by what else it leaves: the name by which the shell has started it, handed down in the
 * environment as an ignored signal is; and, where stdin was a terminal, a stdin that can only be written (GNU).
 */
export function isUnderNohup(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return basename(env._ ?? '') === 'nohup' || isStdinOfNohup();
}

function isStdinOfNohup(): boolean {
  try {
    if (readlinkSync('/proc/self/fd/0') !== '/dev/null') return false;
    const [, flags = '0'] = /^flags:\s*([0-7]+)$/m.exec(readFileSync('/proc/self/fdinfo/0', 'utf8')) ?? [];
    // Of the two lowest bits 1 is "to be written only".
    return (Number.parseInt(flags, 8) & 3) === 1;
  } catch {
    // Only Linux has these files.
    return false;
  }
}
