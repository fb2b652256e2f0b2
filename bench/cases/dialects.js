/** Sources that are not plain UTF-8 with commas and LF, beside the plain one of the same records. */
import { alternate } from '../alternate.js';
import { beginRun } from '../begin-run.js';
import { measureCommand, measureNode } from '../measure.js';
import { shareOf } from '../rows.js';
import { stageProgram } from '../stage-programs.js';

const DIALECTS = [
  { what: '`;`', dialect: 'semicolon' },
  { what: 'CRLF', dialect: 'crlf' },
  { what: 'Latin-1', dialect: 'latin1', encoding: 'latin1' },
  { what: '`;`, CRLF and Latin-1', dialect: 'semicolon-crlf-latin1', encoding: 'latin1' },
  { what: 'gzip', dialect: 'comma', gzip: true },
];
const AT_MOST = 2.5;

export const dialects = {
  title: 'Sources that are not plain',
  async run(lab) {
    const records = lab.recordsOr(2_000_000);
    const plain = await lab.source(records);
    const rows = [];
    for (const { what, dialect, encoding = 'auto', gzip = false } of DIALECTS) {
      const other = await lab.source(records, dialect, gzip);
      const chunk = async (path, coding) => {
        const config = await beginRun(lab.emptyFolder('dialect'), path, coding);
        return measureNode([stageProgram('chunk'), config]);
      };
      const samples = await alternate(lab.pairs, {
        checked: () => measureNode([stageProgram('scan'), other, encoding]),
        plainChecked: () => measureNode([stageProgram('scan'), plain]),
        chunked: () => chunk(other, encoding),
        plainChunked: () => chunk(plain, 'auto'),
        ...(gzip && { unzipped: () => measureCommand('gzip', ['-dc', other]) }),
      });
      const { checked, plainChecked, chunked, plainChunked, unzipped } = samples;
      const share = (did, beside, ours, peer) =>
        rows.push(
          shareOf({ what: `${did} ${what}`, beside, figure: 'wallSeconds', ours, peer, atMost: AT_MOST }),
        );
      share('checking', 'plain', checked, plainChecked);
      share('chunking', 'plain', chunked, plainChunked);
      if (unzipped !== undefined) share('checking', '`gzip -dc`', checked, unzipped);
    }
    return {
      notes: [
        `The same ${records} records written in other ways, beside the plain source: the whole check, and chunking.`,
      ],
      rows,
    };
  },
};
