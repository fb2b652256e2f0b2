/** Holds every echo of a joined chunk to what was sent: one that says something else is a strange result. */
import { type EchoExports, EchoKernel, type EchoPart, type FieldPair } from '../csv/kernel/echo-kernel.js';
import { TableMemory } from '../csv/kernel/table-memory.js';
import { MismatchError } from '../errors.js';
import type { RecordBlock } from '../source/record-block.js';
import type { ColumnKinds, FileStatus } from '../types.js';
import { foldText, resultText, type SentField, sentText } from './echo-kinds.js';
import { type Joined, Misfits } from './joined.js';

/** Echoes that say something else than was sent. */
export class ContradictionError extends MismatchError {
  constructor(
    error: MismatchError,
    readonly columns: readonly string[],
  ) {
    super(error.code, error.message, { facts: error.facts, cause: error });
  }
}

/**
 * @param kinds of the columns that are compared, by the kind of part; answers among them are not.
 * @returns the columns in which a text came back with other capitals, blanks or Unicode form.
 * @throws ContradictionError `RESULTS_DO_NOT_MATCH` naming records and columns.
 */
export type CompareEchoes = (
  records: RecordBlock,
  joined: Pick<Joined, 'parts' | 'part' | 'result'>,
  fields: readonly SentField[],
  kinds: Readonly<Record<FileStatus, ColumnKinds>>,
) => Readonly<Record<FileStatus, ReadonlySet<string>>>;

/** Compares in a memory that is left to others afterwards. */
export const compareEchoes: CompareEchoes = (...chunk) => {
  const tables = new TableMemory<EchoExports>();
  try {
    return createEchoComparer(new EchoKernel(tables))(...chunk);
  } finally {
    tables.release();
  }
};

/** @param kernel with the memory of whoever writes the same chunk's rows next. */
export function createEchoComparer(kernel: EchoKernel): CompareEchoes {
  return (records, joined, fields, kinds) => {
    const parts = joined.parts.map((table): EchoPart => {
      const { bytes, count, starts, ends, columns } = table;
      const pairs = fields.flatMap(({ column, sourceField }): readonly FieldPair[] => {
        const resultField = columns.indexOf(column);
        const kind = kinds[table.reference.fileStatus][column];
        if (resultField < 0 || kind === undefined || kind === 'answer') return [];
        return [{ sentField: sourceField, resultField, isFolded: kind === 'folded' }];
      });
      return { bytes, count, starts, ends, fields: columns.length, pairs };
    });
    const folded = { SUCCESSFUL: new Set<string>(), FAILED: new Set<string>() };
    const misfits = new Misfits();
    const changed = new Set<string>();
    kernel.compare(records, parts, joined, (place, at) => {
      const part = joined.part[place]!;
      const { columns, reference } = joined.parts[part]!;
      const { sentField, resultField } = parts[part]!.pairs[at]!;
      const sent = sentText(records, place, sentField);
      const back = resultText(joined.parts[part]!, joined.result[place]!, resultField);
      const column = columns[resultField]!;
      if (foldText(sent) === foldText(back)) folded[reference.fileStatus].add(column);
      else {
        changed.add(column);
        const said = JSON.stringify(back.slice(0, 40));
        misfits.add('strange', `${column} ${said} of record ${records.numbers[place]}`);
      }
    });
    const contradiction = misfits.error();
    if (contradiction !== undefined) throw new ContradictionError(contradiction, [...changed]);
    return folded;
  };
}
