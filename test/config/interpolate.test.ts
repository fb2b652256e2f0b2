import { expect, test } from 'vitest';
import { escapeReferences, interpolate, withVariables } from '../../src/config/interpolate.js';
import { variable } from '../helpers/config/minimal-config.js';

const env = { NAME: 'Ann', EMPTY: '', NESTED: variable('NAME') };

function put(text: string): { text: string; problems: string[] } {
  const problems: string[] = [];
  return { text: interpolate(text, env, (problem) => problems.push(problem)), problems };
}

test.each([
  ['plain', 'plain'],
  [variable('NAME'), 'Ann'],
  [`<${variable('NAME')}|${variable('NAME')}>`, '<Ann|Ann>'],
  [variable('EMPTY'), ''],
  [variable('NAME:-Bo'), 'Ann'],
  [variable('EMPTY:-Bo'), 'Bo'],
  [variable('MISSING:-Bo'), 'Bo'],
  [variable('MISSING:-'), ''],
  [variable('NESTED'), variable('NAME')],
  [`$${variable('NAME')}`, variable('NAME')],
  ['$NAME costs 5$', '$NAME costs 5$'],
])('%s becomes %s', (text, expected) => {
  expect(put(text)).toEqual({ text: expected, problems: [] });
});

test('an unset variable is named', () => {
  expect(put(variable('MISSING')).problems).toEqual(['the variable MISSING is not set']);
});

test.each([variable(''), variable('1X'), variable('a b'), '${open'])('%s is a problem', (text) => {
  expect(put(text).problems).toHaveLength(1);
});

test.each(['a', variable('NAME'), `$${variable('NAME')}`, '$${', '${', '$'])(
  '%s survives escaping',
  (text) => {
    expect(put(escapeReferences(text))).toEqual({ text, problems: [] });
  },
);

test('an empty variable does not mean a state in a folder, unless its default is empty', () => {
  const problems: string[] = [];
  const read = (value: string) =>
    withVariables({ key: ['state'], value }, { STATE_URL: '' }, (text) => problems.push(text));
  expect([read(`\${STATE_URL:-}`), read('')]).toEqual([null, '']);
  expect(problems).toEqual([]);
  read(`\${STATE_URL}`);
  expect(problems).toEqual([
    `\${STATE_URL} is empty; write \${STATE_URL:-} if the state should be in stateDir then`,
  ]);
});
