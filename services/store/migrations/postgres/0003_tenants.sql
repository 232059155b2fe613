-- The tenant that a task, a session or an upload belongs to. What is older than tenants belongs to the first one.
ALTER TABLE task ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';
ALTER TABLE resource ADD COLUMN tenant TEXT NOT NULL DEFAULT 'default';

-- Listing what a tenant has. Neither column changes, so an append does not touch the index.
CREATE INDEX task_by_tenant ON task (tenant, id);
CREATE INDEX resource_by_tenant ON resource (tenant, collection, id);
