import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeReferences, interpolate } from '../../src/config/interpolate.js';
import { parseConfig } from '../../src/config/load-config.js';
import type { ConfigInput } from '../../src/config/schema.js';
import { configSchema } from '../../src/config/schema.js';
import { ConfigError } from '../../src/errors.js';
import { forTime } from '../helpers/properties/for-time.js';

const budget = forTime(700, 2_000);

const sections: readonly string[] = Object.keys(configSchema.shape);
const keys: readonly string[] = Object.values(configSchema.shape).flatMap((schema) =>
  'shape' in schema ? Object.keys(schema.shape) : [],
);

test('any text survives being escaped and interpolated', () => {
  const pieces = fc.constantFrom('$', '{', '}', 'HOME', ':-', 'a', ' ', '\n');
  fc.assert(
    fc.property(fc.array(pieces), (parts) => {
      const text = parts.join('');
      const fail = (problem: string) => {
        throw new Error(problem);
      };
      expect(interpolate(escapeReferences(text), { HOME: 'x' }, fail)).toBe(text);
    }),
    budget,
  );
});

test('whatever stands in a config, the answer is a ConfigError that shows no token', () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom('1s', '1KB', 'auto', 'null', ''));
  const section = fc.oneof(value, fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), value));
  const config = fc.dictionary(fc.oneof(fc.constantFrom(...sections), fc.string()), section);
  fc.assert(
    fc.property(config, (sections) => {
      const service = { baseUrl: 'https://predict.example', token: 'hunter2 hunter2' };
      try {
        parseConfig({ ...sections, service } as ConfigInput, '/base');
      } catch (error) {
        expect(error).toBeInstanceOf(ConfigError);
        expect(String(error)).toContain('service.token');
        expect(String(error)).not.toContain('hunter2');
        return;
      }
      throw new Error('a token with a space was accepted');
    }),
    budget,
  );
});
