/** The command that goes on with what this one leaves unfinished, fit to be pasted into a shell. */

/**
 * The same command without what is only for a new run: `--new` would begin yet another one and pay again.
 * @param argv as node gives it: the two first are skipped.
 * @param command another command to go on with, of the same config.
 */
export function resumeCommand(argv: readonly string[], command = argv[2]): string {
  const rest = argv.slice(3).filter((word, at, words) => {
    const isNew = word === '--new' || word === '--label' || word.startsWith('--label=');
    return !isNew && words[at - 1] !== '--label';
  });
  return ['foliopipe', ...(command === undefined ? [] : [command]), ...rest.map(quoteForShell)].join(' ');
}

export function isRehearsal(argv: readonly string[]): boolean {
  return argv.some((word) => word === '--rehearse' || word.startsWith('--rehearse='));
}

/** A hint for the command line that it is shown to: in a rehearsal, `foliopipe run` would mean the real job. */
export function asRehearsed(hint: string, argv: readonly string[]): string {
  // One that names the flag itself means no real job.
  if (!isRehearsal(argv) || hint.includes('--rehearse')) return hint;
  return hint.replaceAll(/\bfoliopipe run\b/g, () => resumeCommand(argv));
}

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
