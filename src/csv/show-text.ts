/** Text of a source as it may stand in a message: one short line without control characters. */

/** Control, format (bidi), surrogate, private and unassigned characters, and line separators. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * Quotes text for a message: at most `maxLength` characters of it, what cannot be printed written as
 * `\u{hex}`.
 */
export function showText(text: string | Uint8Array, maxLength = 60): string {
  // A character has at most 4 bytes in UTF-8: decode no more of a large record than can be shown.
  const whole = typeof text === 'string' ? text : Buffer.from(text.subarray(0, maxLength * 4 + 4)).toString();
  const characters = Array.from(whole.slice(0, maxLength * 2 + 2));
  const shown = characters.slice(0, maxLength).join('').replace(UNPRINTABLE, escapeCharacter);
  return `"${shown}${characters.length > maxLength ? '…' : ''}"`;
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}
