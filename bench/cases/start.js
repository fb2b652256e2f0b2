/** How long the command takes to begin at all. */
import { alternate } from '../alternate.js';
import { measureCommand } from '../measure.js';
import { shareOf } from '../rows.js';
import { cli } from '../service.js';

/** A short measurement is noisy, so it needs more pairs. */
const PAIRS = 4;

export const start = {
  title: 'Start',
  async run(lab) {
    const { ours, peer } = await alternate(PAIRS * lab.pairs, {
      ours: () => measureCommand(process.execPath, [cli, '--help']),
      peer: () => measureCommand(process.execPath, ['-e', '0']),
    });
    return {
      notes: ['`foliopipe --help` beside a Node that does nothing.'],
      rows: [
        shareOf({
          what: '`--help`',
          beside: '`node -e 0`',
          figure: 'wallSeconds',
          ours,
          peer,
          atMost: 3,
        }),
      ],
    };
  },
};
