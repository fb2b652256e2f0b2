/** A download's reply of any size: JSON with one base64 string, made piece by piece. */
import { CHUNK_RECORDS } from './job.js';

/** A multiple of 3: pieces can be encoded one by one. */
const PIECE_BYTES = 3 * 256 * 1024;

/** The reply to a download of `size` bytes of result-like CSV; about one record in a hundred bytes. */
export function* replyPieces(size) {
  yield Buffer.from('{"response":{"content":"');
  const piece = Buffer.from(lines(PIECE_BYTES));
  const encoded = Buffer.from(piece.toString('base64'));
  let left = size;
  for (; left >= PIECE_BYTES; left -= PIECE_BYTES) yield encoded;
  yield Buffer.from(piece.subarray(0, left).toString('base64'));
  yield Buffer.from('","filename":"part.csv"},"message":"read"}');
}

function lines(size) {
  let text = '';
  for (let record = 1; text.length < size; record += 1) {
    const number = (record * 7919) % (CHUNK_RECORDS * 97);
    text += `${number},Business ${number.toString(36)},${number % 9899} Main St,MT,${541000 + (number % 999)},Some Title,0.${50 + (number % 50)}\n`;
  }
  return text.slice(0, size);
}
