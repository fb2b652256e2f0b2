/** A download's reply, JSON with base64, into a file. */
import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { replyPieces } from '../reply.js';
import { timesFaster, within } from '../rows.js';
import { checkSame } from '../same-files.js';
import { listeningAddress, stopped } from '../service.js';
import { stageProgram } from '../stage-programs.js';

const PART_BYTES = 150e6;
const LARGE_PART_BYTES = 1e9;

export const decoding = {
  title: 'Decoding a download',
  async run(lab) {
    const reply = lab.path('reply.json');
    await pipeline(Readable.from(replyPieces(PART_BYTES)), createWriteStream(reply));
    const decoded = lab.path('decoded-ours.csv');
    const usualFile = lab.path('decoded-peer.csv');
    const { alone, received, buffer, toFile, usual } = await alternate(
      lab.pairs,
      {
        alone: () => measureNode([program('ours/decode-memory.js'), reply]),
        received: () => measureNode([program('ours/decode-memory.js'), reply, lab.path('decoded.csv')]),
        buffer: () => measureNode([program('peers/decode-buffer.js'), reply]),
        toFile: () => measureNode([stageProgram('decode'), reply, decoded]),
        usual: () => measureNode([program('peers/decode-whole.js'), reply, usualFile]),
      },
      () => checkSame(decoded, lab.path('decoded.csv'), usualFile),
    );
    const large = await largePart(lab);
    const bufferFrom = { beside: '`Buffer.from` alone', peer: buffer, figure: 'seconds', atLeast: 0.5 };
    const whole = { beside: 'read, parse, `Buffer.from`, write', peer: usual };
    return {
      notes: [
        `A reply with ${PART_BYTES / 1e6} MB of CSV, timed inside the processes without their start.`,
        "`Buffer.from(text, 'base64')` has its text in memory and writes nothing; ours gets the JSON in pieces of 64 KiB, as a socket gives them, and refuses what is not strict base64.",
        `The large part of ${LARGE_PART_BYTES / 1e6} MB comes over HTTP through the real client into the real store, with gzip, hash and sync; as one string it could not even be held by Node.`,
      ],
      rows: [
        timesFaster({ what: 'received pieces to a file', ours: received, ...bufferFrom }),
        timesFaster({ what: 'received pieces, thrown away', ours: alone, ...bufferFrom }),
        timesFaster({ what: 'a file to a file', ours: toFile, ...whole, figure: 'seconds' }),
        timesFaster({ what: 'a file to a file, peak memory', ours: toFile, ...whole, figure: 'peakRssMB' }),
        within({ what: 'large part, peak memory', values: [large.peakRssMB], unit: 'MB', atMost: 150 }),
        within({ what: 'large part, time', values: [large.wallSeconds], unit: 's' }),
      ],
    };
  },
};

async function largePart(lab) {
  const server = spawn(process.execPath, [program('reply-server.js'), `${LARGE_PART_BYTES}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const baseUrl = await listeningAddress(server);
    const measured = await measureNode([program('ours/download.js'), baseUrl, lab.emptyFolder('large')]);
    if (measured.bytes === LARGE_PART_BYTES) return measured;
    throw new Error(`the large part came with ${measured.bytes} bytes`);
  } finally {
    await stopped(server);
  }
}
