/** Says that nothing but a person's word joins a run's results. */
import type { JoinWay } from '../types.js';

/** @param way one whose judgement is on the person's word. */
export function onWordText({ by, judged }: JoinWay): string {
  const columns = judged?.declared?.join(', ') ?? '';
  const how = by === 'key' ? "by the record's number alone" : 'by equal values in order';
  return `result.echo: [${columns}] does not tell the records apart: results are joined ${how}, on your word`;
}
