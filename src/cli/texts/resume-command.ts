/** The commands that errors name as the next step, ready to paste into a shell. */
import { quoteForShell } from '../../text.js';

/**
 * The same command without the flags of a new run: `--new` would begin another run and pay again, and its `--yes` would
 * confirm questions that were not asked.
 * @param argv as node gives it: the first two are skipped.
 */
export function resumeCommand(argv: readonly string[]): string {
  const isNew = argv.includes('--new');
  const words = argv.slice(2).filter((word, index, all) => {
    const isLabel = word === '--label' || word.startsWith('--label=') || all[index - 1] === '--label';
    return !isLabel && word !== '--new' && !(isNew && word === '--yes');
  });
  return ['foliopipe', ...words.map(quoteForShell)].join(' ');
}

/** Changes "the same command" in a text to one without `--new`, which would begin another run. */
export function withoutNew(text: string): string {
  return text.replaceAll(/\b([Tt]he same command)\b(?: again)?(?! without --new)/g, '$1 without --new');
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
