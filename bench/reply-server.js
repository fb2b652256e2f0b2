/**
 * Answers every request with a download's reply whose content has BYTES bytes.
 * node bench/reply-server.js BYTES
 */
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { replyPieces } from './reply.js';

const size = Number(process.argv[2]);
const server = createServer((_, response) => {
  response.setHeader('content-type', 'application/json');
  Readable.from(replyPieces(size)).pipe(response);
});
server.listen(0, '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${server.address().port}`));
