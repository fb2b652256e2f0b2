/** The contract of the output store's port, over every implementation of it. */
import { afterAll, expect, it } from 'vitest';
import { createLocalOutputStore } from '../../src/files/local-output-store.js';
import type { OutputStore } from '../../src/files/output-store.js';
import { createS3OutputStore } from '../../src/files/s3/s3-output-store.js';
import { createMemoryOutputStore } from '../helpers/memory/memory-output-store.js';
import { recording } from '../helpers/recording.js';
import { openS3Server, s3Options } from '../helpers/s3/s3-server.js';
import { describeOutputStore } from './output-store-contract.js';

const s3 = await openS3Server();
afterAll(() => s3.close());

describeOutputStore('local folders', createLocalOutputStore);
describeOutputStore(
  'S3',
  () => createS3OutputStore(s3Options(s3), undefined, 5_000_000),
  `s3://${s3.bucket}`,
);
describeOutputStore(
  'S3 in parts',
  () => createS3OutputStore(s3Options(s3), undefined, 100_000),
  `s3://${s3.bucket}`,
);

/** The methods of the port that the contract has called. */
const called = new Set<string>();
describeOutputStore('memory', () => recording<OutputStore>(createMemoryOutputStore(), called));

it('the contract calls every method of the port', () => {
  const methods = Object.keys(createMemoryOutputStore()).filter((name) => name !== 'contents');
  expect(methods.filter((name) => !called.has(name))).toEqual([]);
});
