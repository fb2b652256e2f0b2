/** Makes texts of the service safe to show: one short line without control characters and without the token. */
import { oneLine, shorten } from '../text.js';

/** A secret that only `reveal` gives, so that nothing prints it by accident. */
export interface TokenSecret {
  reveal(): string;
}

export type ServiceText = (text: string) => string;

const MAX_LENGTH = 200;
const HIDDEN = '[token]';

/** A shorter token is a part of too many words: it is hidden only where it is the whole text. */
const MIN_WITHIN = 4;

/**
 * @param token null: there is none.
 * @returns a function that replaces the token in a text, however it is escaped there.
 */
export function hideToken(token: TokenSecret | null): ServiceText {
  if (token === null) return (text) => text;
  const secret = token.reveal();
  if (secret.length < MIN_WITHIN) return (text) => (text === secret && text !== '' ? HIDDEN : text);
  const pattern = new RegExp(Array.from(secret, anyFormOf).join(''), 'g');
  return (text) => text.replace(pattern, HIDDEN);
}

/**
 * Matches a character in each form in which a text, an address, JSON or a page may write it. Programs differ in the
 * characters that they escape, but none escapes letters and digits.
 */
function anyFormOf(character: string): string {
  if (/\w/.test(character)) return character;
  const code = character.charCodeAt(0);
  const hex = code
    .toString(16)
    .padStart(2, '0')
    .replace(/[a-f]/, (digit) => `[${digit}${digit.toUpperCase()}]`);
  const forms = [`\\\\?\\${character}`, `%(?:25)?${hex}`, `\\\\u00${hex}`, `&#(?:0*${code}|[xX]0*${hex});`];
  const named = ENTITIES[character] ?? (character === ' ' ? '\\+' : undefined);
  return `(?:${[...forms, ...(named === undefined ? [] : [named])].join('|')})`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
};

/** @returns a function from any text to one of at most 200 characters, in which the token is replaced. */
export function createServiceText(token: TokenSecret): ServiceText {
  const hide = hideToken(token);
  // Hides the token before and after: `oneLine` may join the parts of a token that was split.
  return (text) => shorten(hide(oneLine(hide(text))), MAX_LENGTH);
}
