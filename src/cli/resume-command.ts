/** The commands that errors name as the next step, ready to paste into a shell. */

/**
 * The same command without the flags of a new run: `--new` would begin another run and pay again. Another command does
 * not know `--no-reuse` and `--yes`, and does not need them.
 * @param argv as node gives it: the first two are skipped.
 * @param command another command to continue with, with the same config.
 */
export function resumeCommand(argv: readonly string[], command = argv[2]): string {
  const rest = argv.slice(3).filter((word, index, words) => {
    const isNew = word === '--new' || word === '--label' || word.startsWith('--label=');
    if (command !== argv[2] && (word === '--no-reuse' || word === '--yes')) return false;
    return !isNew && words[index - 1] !== '--label';
  });
  return ['foliopipe', ...(command === undefined ? [] : [command]), ...rest.map(quoteForShell)].join(' ');
}

/** The same command with `--yes`. */
export function confirmCommand(argv: readonly string[]): string {
  return ['foliopipe', ...argv.slice(2).map(quoteForShell), '--yes'].join(' ');
}

/** Whether the command line starts a rehearsal. */
export function isRehearsal(argv: readonly string[]): boolean {
  return argv.some((word) => word === '--rehearse' || word.startsWith('--rehearse='));
}

/** Adapts a hint to a rehearsal, in which `foliopipe run` would mean the real job. */
export function asRehearsed(hint: string, argv: readonly string[]): string {
  // A hint that names the flag does not mean the real job.
  if (!isRehearsal(argv) || hint.includes('--rehearse')) return hint;
  return hint.replaceAll(/\bfoliopipe run\b/g, () => resumeCommand(argv));
}

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
