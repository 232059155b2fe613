-- What led to the events that were appended at once, with the last of them. Nobody reads it but exports. It comes compressed.
ALTER TABLE event ADD COLUMN notes BYTEA;
ALTER TABLE event ALTER COLUMN notes SET STORAGE EXTERNAL;
