/** The shapes whose memory is measured: sources, answers and chunks that are not those of the plain case. */
import { KEY, writeJob } from './job.js';
import { program } from './lab.js';
import { measureCommand, measureNode } from './measure.js';
import { cli, withServer } from './service.js';

const PLAIN = { name: 'BusinessName', address: 'Address', state: 'State' };
const WITH_TEXT = { ...PLAIN, text: 'Text' };
const LONG_TEXT = 950;
const NOT_SENT_TEXT = 20_000;
/** Each run has many chunks, so that what the process keeps from chunk to chunk reaches its full size. */
const SHARES = { plain: 1, wide: 0.3, long: 0.1 };
const TINY_CHUNK = 10;
const TINY_CHUNKS_SHARE = 0.2;
const MANY_ANSWERS = 40;
const ANSWERS = 3;
const LARGE_CHUNK_MB = 64;
const LARGE = {
  chunks: { maxRecords: 10_000_000, maxBytes: `${LARGE_CHUNK_MB}MB` },
  maxBytes: LARGE_CHUNK_MB * 1024 * 1024,
};

/** @param records of the plain shape. */
export function memoryShapes(records) {
  return [
    { what: 'plain' },
    { what: '60 columns', share: SHARES.wide, columns: 60 },
    { what: 'records of 1 KB', share: SHARES.wide, text: LONG_TEXT },
    { what: '40 result columns', share: SHARES.wide, answers: MANY_ANSWERS },
    {
      what: 'a column of 950 bytes is sent, 40 result columns',
      share: SHARES.long,
      text: LONG_TEXT,
      sent: WITH_TEXT,
      answers: MANY_ANSWERS,
    },
    { what: 'join by echo', keyColumn: null },
    { what: 'a column of 20 KB is not sent', exactly: 20_000, text: NOT_SENT_TEXT },
    {
      what: 'a column of 20 KB is not sent, join by echo',
      exactly: 20_000,
      text: NOT_SENT_TEXT,
      keyColumn: null,
    },
    {
      what: `${Math.round((records * TINY_CHUNKS_SHARE) / TINY_CHUNK)} chunks`,
      share: TINY_CHUNKS_SHARE,
      chunks: { maxRecords: TINY_CHUNK },
    },
    {
      what: `one chunk of ${LARGE_CHUNK_MB} MB, records of 1 KB`,
      ...LARGE,
      exactly: 66_000,
      text: LONG_TEXT,
      sent: WITH_TEXT,
    },
    { what: `one chunk of ${LARGE_CHUNK_MB} MB, records of 50 bytes`, ...LARGE, exactly: 1_350_000 },
    { what: `one chunk of ${LARGE_CHUNK_MB} MB, 60 columns`, ...LARGE, exactly: 700_000, columns: 60 },
  ].map((shape) => ({ ...shape, records: shape.exactly ?? Math.round(records * (shape.share ?? 1)) }));
}

/** Makes the source of a shape, once. */
export async function sourceOf(lab, { records, columns = 7, text = 0 }) {
  const path = lab.path(`wide-${records}-${columns}-${text}.csv`);
  await lab.once(path, () => {
    const options = ['--records', records, '--columns', columns, '--text', text, '--out', path];
    return measureCommand(process.execPath, [program('wide-source.js'), ...options]);
  });
  return path;
}

/** Runs the client over a shape, with a state and a service of its own; its output is in `work`. */
export function measureShape(lab, shape, source) {
  const work = lab.emptyFolder('shape');
  const { sent = PLAIN, keyColumn = KEY, chunks, answers = ANSWERS } = shape;
  const data = lab.emptyFolder('shape-service');
  return withServer([program('wide-service.js'), data, `${answers}`], (baseUrl) => {
    const config = writeJob({ source, work, baseUrl, columns: sent, keyColumn, chunks });
    return measureNode([cli, 'run', config, '--log-level', 'warn']);
  });
}
