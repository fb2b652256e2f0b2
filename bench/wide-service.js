/**
 * A service for shapes that the local one does not have: it returns what was uploaded, with ADDED_COLUMNS more columns.
 * Folios are finished at once, their files are in DATA, and no record fails.
 * node bench/wide-service.js DATA ADDED_COLUMNS
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';

const PART_RECORDS = 10_000;
/** Different answers, which are given in turn. */
const ANSWERS = 997;
const LF = 10;
const NEWLINE = Buffer.of(LF);

const [data, added] = [process.argv[2], Number(process.argv[3])];
const names = Array.from({ length: added }, (_, column) => `answer_${column + 1}`).join(',');
const answers = Array.from({ length: ANSWERS }, (_, answer) =>
  Buffer.from(
    Array.from({ length: added }, (_, column) => `,${(answer * 7919 + column * 104_729) % 1_000_003}`).join(
      '',
    ),
  ),
);
/** For each folio, the line feeds at which its header and the records of each part end. */
const folios = new Map();

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url, 'http://service');
  const reply = request.method === 'POST' ? await upload(request) : answer(pathname, searchParams);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ response: reply, message: 'done' }));
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));

async function upload(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const body = Buffer.concat(pieces);
  const boundary = body.subarray(0, body.indexOf('\r\n'));
  const start = body.indexOf('\r\n\r\n', body.indexOf('filename=')) + 4;
  const file = body.subarray(start, body.indexOf(Buffer.concat([Buffer.from('\r\n'), boundary]), start));
  const ends = [];
  for (let at = file.indexOf(LF); at !== -1; at = file.indexOf(LF, at + 1)) ends.push(at);
  const folio = `F${folios.size + 1}`;
  writeFileSync(`${data}/${folio}`, file);
  folios.set(
    folio,
    ends.filter((_, line) => line % PART_RECORDS === 0 || line === ends.length - 1),
  );
  folios.get(folio).records = ends.length - 1;
  return { ...about(folio), fileName: `${folio}.csv`, dateUpload: new Date().toISOString() };
}

function answer(pathname, query) {
  const folio = query.get('folio');
  if (pathname.endsWith('/info')) return about(folio);
  return { content: part(folio, Number(query.get('part'))).toString('base64'), filename: `${folio}.csv` };
}

function about(folio) {
  const { records } = folios.get(folio);
  const segmentation = Array.from({ length: Math.ceil(records / PART_RECORDS) }, (_, part) => ({
    part,
    range: `[${part * PART_RECORDS + 1}-${Math.min(records, (part + 1) * PART_RECORDS)}]`,
    filename: `${folio}-${part}.csv`,
  }));
  return {
    folio,
    filename: `${folio}.csv`,
    description: '',
    createdAt: new Date().toISOString(),
    status: 'FINISHED',
    totalRecords: records,
    records,
    progressInfo: {
      status: 'FINISHED',
      processedPercentage: 100,
      processedRecords: records,
      successfulRecords: records,
      failedRecords: 0,
    },
    segmentation,
    failedInfo: { part: 0, range: '[0-0]', filename: `${folio}-failed.csv` },
  };
}

/** The rows of a part: what was sent, with an answer after each record. */
function part(folio, number) {
  const file = readFileSync(`${data}/${folio}`);
  const bounds = folios.get(folio);
  const header = file.subarray(0, bounds[0]);
  const rows = file.subarray(bounds[number] + 1, bounds[number + 1] + 1);
  const pieces = [header, Buffer.from(`,${names}\n`)];
  let at = 0;
  for (let row = 0; at < rows.length; row += 1) {
    const end = rows.indexOf(LF, at);
    pieces.push(rows.subarray(at, end), answers[row % ANSWERS], NEWLINE);
    at = end + 1;
  }
  return Buffer.concat(pieces);
}
