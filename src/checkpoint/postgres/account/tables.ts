/**
 * The tables of accounts: what all pipelines that use one service share, on all machines. Nothing in them counts open
 * folios. Those are counted in the rows of chunks, so that the count is right when a process dies.
 */
export const accountTables = `
CREATE TABLE accounts (
  service      text PRIMARY KEY,
  grants       bigint NOT NULL DEFAULT 0,   -- increases whenever permits are given
  next_slot    timestamptz NOT NULL DEFAULT '-infinity',  -- when the next request may be sent
  paused_until timestamptz NOT NULL DEFAULT '-infinity',
  admitted     bigint,                      -- open folios that the service allows, if it has refused more
  learned      text,                        -- JSON: how that was learned; null while nothing was refused
  asking_run   text,                        -- the only chunk that is sent after a refusal, while it is uploading
  asking_chunk bigint
) WITH (fillfactor = 50);

-- Pipelines that work with an account, or did. They count while their lease has not ended.
CREATE TABLE account_pipelines (
  service     text NOT NULL,
  pipeline    text NOT NULL,
  fence       bigint NOT NULL,              -- of its lease
  folios      bigint NOT NULL,              -- concurrency.folios
  per_second  float8 NOT NULL,              -- service.requestsPerSecond
  waits_since timestamptz,                  -- its place in the line for permits; null while it waits for none
  asks_by     timestamptz NOT NULL DEFAULT '-infinity',   -- passed over unless it asks before
  channel     text NOT NULL,                -- notifies it of its turn
  PRIMARY KEY (service, pipeline)
) WITH (fillfactor = 50);

-- Permits of chunks that are about to be sent. They end with the lease of their pipeline.
CREATE TABLE reserved_permits (
  run      text NOT NULL,
  chunk    bigint NOT NULL,
  service  text NOT NULL,
  pipeline text NOT NULL,
  fence    bigint NOT NULL,
  PRIMARY KEY (run, chunk)
);
CREATE INDEX reserved_permits_of_service ON reserved_permits (service);

CREATE INDEX spending_by_day ON spending (day);
CREATE INDEX open_runs ON runs (service) WHERE state IN ('open', 'publishing');
CREATE INDEX open_chunks ON chunks (run) WHERE state IN ('uploading', 'ambiguous', 'submitted');
`;

export const accountSlots = `
ALTER TABLE accounts
  DROP COLUMN next_slot,
  ADD COLUMN slots float8[] NOT NULL DEFAULT '{}';  -- when requests count as sent, in ms since the epoch
`;
