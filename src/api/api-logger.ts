/** What the client of the network asks of a logger; pino is one. */
export interface ApiLogger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
