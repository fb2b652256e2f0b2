/** What is written of an error where only its JSON is kept, such as in a log or a queue. */
import { expect, it } from 'vitest';
import { AmbiguousUploadError, ConfigError, reworded } from '../src/errors.js';

const details = { hint: 'what next', facts: { chunk: 3 }, cause: new Error('a secret') };

it('says what happened, and not only where', () => {
  const error = new AmbiguousUploadError('AMBIGUOUS_UPLOAD', 'no reply', { ...details, doubt: 'no-reply' });
  const { cause, ...told } = details;
  const name = 'AmbiguousUploadError';
  const expected = {
    name,
    message: 'no reply',
    code: 'AMBIGUOUS_UPLOAD',
    exitCode: 5,
    doubt: 'no-reply',
    ...told,
  };
  expect(JSON.parse(JSON.stringify(error))).toEqual(expected);
});

it('has the new words of a reworded error', () => {
  const error = reworded(new ConfigError('A_CODE', 'before', details), { message: 'after', hint: undefined });
  const expected = {
    name: 'ConfigError',
    message: 'after',
    code: 'A_CODE',
    exitCode: 2,
    facts: details.facts,
  };
  expect(JSON.parse(JSON.stringify(error))).toEqual(expected);
});
