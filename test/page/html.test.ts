import { expect, it } from 'vitest';
import { html, tableOf } from '../../src/page/html.js';

it('escapes every value that is not HTML itself', () => {
  const evil = `<script>'"&\u202e`;
  const shown = '&lt;script&gt;&#39;&quot;&amp;\\u{202e}';
  expect(html`<p title="${evil}">${evil}${html`<b>${evil}</b>`}</p>`.text).toBe(
    `<p title="${shown}">${shown}<b>${shown}</b></p>`,
  );
  expect(html`${[1, 'a', null, undefined, false, ['<']]}`.text).toBe('1a&lt;');
});

it('writes tables with numbers to the right, and with what they are sorted by', () => {
  const { text } = tableOf(
    ['a', 'n'],
    [
      ['<', { text: '1,000', value: 1000 }],
      ['b', { text: '–', value: null }],
    ],
    [1],
  );
  expect(text).toContain('<th scope="col">a</th><th scope="col" class="n">n</th>');
  expect(text).toContain('<tr><td>&lt;</td><td class="n" data-v="1000">1,000</td></tr>');
  expect(text).toContain('<td class="n" data-v="">–</td>');
});
