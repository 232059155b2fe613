-- What led to the events that were appended at once, with the last of them. Nobody reads it but exports; it stands at the end
-- of its row, so that who reads events does not fetch it.
ALTER TABLE event ADD COLUMN notes BLOB;
