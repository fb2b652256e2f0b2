import { join } from 'node:path';
import { createLocalAnswerStore } from '../../src/reuse/local-answer-store.js';
import { useNewFolders } from '../helpers/folders/folders.js';
import { describeAnswerStore } from './answer-store-contract.js';

const newFolder = useNewFolders();
const newStore = async () => join(await newFolder(), 'reuse');
describeAnswerStore('local disk', async () => createLocalAnswerStore(await newStore()));
describeAnswerStore('local disk, small lanes and blocks', async () =>
  createLocalAnswerStore(await newStore(), { block: { entries: 1, valueInts: 1 }, laneBits: 5 }),
);
