/** The four operations of the interface (section 4), as rules name them. */

export const OPERATIONS = ['upload', 'track', 'download', 'search'] as const;

export type Operation = (typeof OPERATIONS)[number];
