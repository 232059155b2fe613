-- What led to the events that were appended at once, with the last of them. Nobody reads it but exports. It comes compressed,
-- and mostly fits into a page, where it needs no place of its own.
ALTER TABLE event ADD COLUMN notes BYTEA;
ALTER TABLE event ALTER COLUMN notes SET STORAGE EXTERNAL;
ALTER TABLE event SET (toast_tuple_target = 8160);
