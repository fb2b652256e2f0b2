/** The command that goes on with what was interrupted, as it can be pasted into a shell. */

/**
 * The same command, but without `--new`: that would begin afresh and pay again.
 * @param argv as node gives it: the two first are skipped.
 */
export function resumeCommand(argv: readonly string[]): string {
  const args = argv.slice(2).filter((arg) => arg !== '--new');
  return ['foliopipe', ...args.map(quoted)].join(' ');
}

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", "'\\''")}'`;
}
