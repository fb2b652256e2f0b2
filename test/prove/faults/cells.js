/** The whole matrix, in the order of its table. */
import { anyCells } from './any-cells.js';
import { downloadCells } from './download-cells.js';
import { searchCells } from './search-cells.js';
import { trackCells } from './track-cells.js';
import { uploadCells } from './upload-cells.js';

export const cells = [...uploadCells, ...trackCells, ...downloadCells, ...searchCells, ...anyCells];
