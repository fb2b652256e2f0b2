import { describe, expect, it } from 'vitest';
import { ConfigError, FoliopipeError } from '../../../src/errors.js';
import { translateError } from '../../../src/load/postgres/translate-error.js';

const place = 'postgres://db.example.com/warehouse';
const ofServer = (code: string, message = 'text of the server') =>
  Object.assign(new Error(message), { code, severity: 'ERROR' });
const ofSystem = (code: string) => Object.assign(new Error(`connect ${code}`), { code });

describe('translateError', () => {
  it.each<[string, Error, string, number]>([
    ['a server that is down', ofSystem('ECONNREFUSED'), 'LOAD_UNREACHABLE', 5],
    ['a host without an address', ofSystem('ENOTFOUND'), 'LOAD_UNREACHABLE', 5],
    ['a connection that ends', new Error('Connection terminated unexpectedly'), 'LOAD_UNREACHABLE', 5],
    ['a time-out', new Error('timeout expired'), 'LOAD_UNREACHABLE', 5],
    ['a server without TLS', new Error('The server does not support SSL connections'), 'LOAD_UNREACHABLE', 5],
    ['an untrusted certificate', ofSystem('SELF_SIGNED_CERT_IN_CHAIN'), 'LOAD_UNREACHABLE', 5],
    ['a server that starts', ofServer('57P03'), 'LOAD_UNREACHABLE', 5],
    ['a full disk', ofServer('53100'), 'LOAD_BUSY', 5],
    ['a lock', ofServer('55P03'), 'LOAD_BUSY', 5],
    ['a deadlock', ofServer('40P01'), 'LOAD_BUSY', 5],
    ['a standby', ofServer('25006'), 'LOAD_READ_ONLY', 5],
    ['a wrong password', ofServer('28P01'), 'LOAD_REFUSED', 7],
    [
      'no password',
      new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
      'LOAD_REFUSED',
      7,
    ],
    ['a missing right', ofServer('42501'), 'LOAD_DENIED', 7],
    ['a value', ofServer('22P02'), 'LOAD_VALUE_UNFIT', 2],
    ['a null', ofServer('23502'), 'LOAD_VALUE_UNFIT', 2],
    ['a type without equality', ofServer('42883'), 'LOAD_UNFIT', 2],
    ['too many columns, or a key too long for its index', ofServer('54011'), 'LOAD_UNFIT', 2],
    ['a NUL byte', ofServer('22021'), 'LOAD_NOT_TEXT', 6],
    ['CSV that it cannot read', ofServer('22P04'), 'LOAD_UNREADABLE', 6],
    ['another error of the server', ofServer('0A000'), 'LOAD_FAILED', 2],
  ])('%s', (_, error, code, exitCode) => {
    const translated = translateError(error, place) as FoliopipeError;
    expect(translated).toBeInstanceOf(FoliopipeError);
    expect(translated).toMatchObject({ code, exitCode });
    expect(translated.message).toContain(place);
    expect(translated.hint).toBeTruthy();
  });

  it('never repeats a user, and brings no control character to a terminal', () => {
    const refused = translateError(ofServer('28P01', 'password authentication failed for user "bob"'), place);
    expect(String(refused)).not.toContain('bob');
    const unfit = translateError(ofServer('22P02', 'invalid input: "\u001b[2J\n"'), place);
    expect(String(unfit)).not.toMatch(/\p{Cc}/u);
  });

  it('leaves other errors alone', () => {
    const own = new ConfigError('OUTPUT_CHANGED', 'text');
    const bug = new TypeError('x is not a function');
    const ofDisk = ofSystem('EIO');
    for (const error of [own, bug, ofDisk]) expect(translateError(error, place)).toBe(error);
  });
});
