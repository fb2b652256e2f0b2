/**
 * A service whose waits can be set: how long a folio takes, how late each reply is, how many folios it admits. It keeps
 * everything in memory, so that a client that is measured with it waits and does not compete for the CPU.
 * node bench/waiting/service.js '{"folioMs":5000,"latencyMs":20,"admits":8,"parts":1}'
 */
import { createServer } from 'node:http';
import { setPriority } from 'node:os';
import { mostInASecond } from './sliding-second.js';

// Otherwise, on a busy machine, it would count several requests at once that came one after the other.
if (process.getuid?.() === 0) setPriority(-15);

const { folioMs = 0, latencyMs = 0, admits = Infinity, parts = 1 } = JSON.parse(process.argv[2]);
const RETRY_AFTER_SECONDS = 1;

const folios = [];
/** When each request began to arrive, and when it was complete. */
const begun = [];
const arrivals = [];
let refused = 0;
/** When the last reply was sent. */
let repliedAt = 0;

const server = createServer((request, response) => {
  const url = new URL(request.url, 'http://localhost');
  if (url.pathname === '/figures') return void response.end(JSON.stringify(figures()));
  begun.push(performance.now());
  const pieces = [];
  request.on('data', (piece) => pieces.push(piece));
  request.on('end', () => {
    arrivals.push(performance.now());
    const { status = 200, headers = {}, ...reply } = answer(url, Buffer.concat(pieces));
    setTimeout(() => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify({ message: '', ...reply }));
      repliedAt = performance.now();
    }, latencyMs);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));

function answer(url, body) {
  const folio = folios[Number(url.searchParams.get('folio'))];
  if (url.pathname.endsWith('/upload')) return upload(body.toString());
  if (url.pathname.endsWith('/info')) return { response: report(folio) };
  return { response: { content: part(folio, Number(url.searchParams.get('part'))), filename: 'part.csv' } };
}

function upload(body) {
  const now = performance.now();
  if (folios.filter(({ endsAt }) => endsAt > now).length >= admits) {
    refused += 1;
    return { status: 429, headers: { 'retry-after': String(RETRY_AFTER_SECONDS) }, response: null };
  }
  const [head, ...lines] = fileIn(body).split('\n').filter(Boolean);
  const name = /filename="([^"]*)"/.exec(body)?.[1];
  const folio = { id: folios.length, name, head, lines, acceptedAt: now, endsAt: now + folioMs };
  folios.push(folio);
  return { response: { folio: String(folio.id), status: 'PROCESSING', totalRecords: lines.length } };
}

/** The content of the only part of a multipart body that has a file's name. */
function fileIn(body) {
  const begin = body.indexOf('\r\n\r\n', body.indexOf('filename=')) + 4;
  return body.slice(begin, body.indexOf('\r\n--', begin));
}

function report({ id, lines, acceptedAt, endsAt }) {
  const isDone = performance.now() >= endsAt;
  const share = isDone ? 1 : (performance.now() - acceptedAt) / (endsAt - acceptedAt);
  const processed = Math.floor(share * lines.length);
  const progressInfo = {
    status: isDone ? 'FINISHED' : 'PROCESSING',
    processedPercentage: Math.floor(100 * share),
    processedRecords: processed,
    successfulRecords: processed,
    failedRecords: 0,
  };
  const each = Math.ceil(lines.length / parts);
  const segmentation = Array.from({ length: isDone ? Math.ceil(lines.length / each) : 0 }, (_, number) => ({
    part: number,
    range: `[${number * each + 1}-${Math.min((number + 1) * each, lines.length)}]`,
    filename: `part-${number}.csv`,
  }));
  return { folio: String(id), records: lines.length, progressInfo, segmentation };
}

function part({ head, lines }, number) {
  const each = Math.ceil(lines.length / parts);
  const rows = lines.slice(number * each, (number + 1) * each).map((line) => `${line},1\n`);
  return Buffer.from(`${head},code\n${rows.join('')}`).toString('base64');
}

/** Folios that were open when this one was accepted, including this one. */
function openWith({ acceptedAt }) {
  return folios.filter((other) => other.acceptedAt <= acceptedAt && other.endsAt > acceptedAt).length;
}

function figures() {
  return {
    requests: arrivals.length,
    refused,
    seconds: (repliedAt - arrivals[0]) / 1000,
    mostInASecond: mostInASecond(arrivals),
    mostBegun: mostInASecond(begun),
    mostOpen: Math.max(...folios.map(openWith)),
    uploads: folios.map(({ name }) => name),
  };
}
