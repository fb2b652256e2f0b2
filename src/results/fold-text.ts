/** Texts that differ only in case, blanks or the form of Unicode are the same to a person. */

/** Two texts are alike where this makes them equal. */
export function foldText(text: string): string {
  // Both ways: ß and SS, and the two small sigmas, meet only so.
  const folded = text.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
  return folded.replace(/\s+/gu, ' ').trim();
}
