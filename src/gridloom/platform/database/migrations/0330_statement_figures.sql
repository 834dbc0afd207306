-- What each battery did in the month, beside its amounts: cycles, energy, availability. Statements keep it in their body.
alter table statement_draft add column figures bytea;
