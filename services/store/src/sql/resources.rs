//! Sessions, desktops and uploads.
//!
//! Their messages are not read here: a row has them as bytes.

use std::collections::BTreeMap;
use std::time::SystemTime;

use sqlx::QueryBuilder;

use super::requests::{find_completed, record_completed};
use super::rows::{having_labels, millis, set_labels};
use super::tasks::page;
use super::{Connection, StatementError, Store};
use crate::tokens::{ListArguments, PageToken};
use crate::{Error, ListResources, Page, PutResource, RequestId, ResourceRow};

impl Store {
    pub(super) async fn put(&self, put: PutResource) -> Result<ResourceRow, StatementError> {
        let mut writing = self.write().await?;
        if let Some(name) = find_completed(&mut writing, put.request.as_ref(), put.now).await? {
            return existing(&mut writing, &name).await;
        }
        let row = upsert(&mut writing, &put).await?;
        let row = row.ok_or_else(|| Error::ResourceExists {
            name: put.name.clone(),
        })?;
        set_labels(&mut writing, &put.name, &put.labels).await?;
        record_completed(&mut writing, put.request.as_ref(), &put.name, put.now).await?;
        writing.commit().await?;
        Ok(row)
    }

    pub(super) async fn remove(
        &self,
        name: &str,
        request: Option<RequestId>,
        now: SystemTime,
    ) -> Result<(), StatementError> {
        let mut writing = self.write().await?;
        if find_completed(&mut writing, request.as_ref(), now)
            .await?
            .is_some()
        {
            return Ok(());
        }
        existing(&mut writing, name).await?;
        set_labels(&mut writing, name, &BTreeMap::new()).await?;
        sqlx::query("DELETE FROM resource WHERE name = $1")
            .bind(name)
            .execute(&mut *writing)
            .await?;
        record_completed(&mut writing, request.as_ref(), name, now).await?;
        writing.commit().await?;
        Ok(())
    }

    pub(super) async fn resource(&self, name: &str) -> Result<ResourceRow, StatementError> {
        let mut reading = self.readers.acquire().await?;
        existing(&mut reading, name).await
    }

    pub(super) async fn resources(
        &self,
        list: ListResources,
    ) -> Result<Page<ResourceRow>, StatementError> {
        let collection = list.collection.as_str();
        let arguments = ListArguments::of(collection)
            .with_tenant(list.tenant.as_deref())
            .with_labels(&list.labels);
        let after = PageToken::after(list.page_token.as_deref(), arguments.clone())?;
        let mut query = QueryBuilder::new("SELECT * FROM resource WHERE collection = ");
        query
            .push_bind(collection)
            .push(" AND id < ")
            .push_bind(after.unwrap_or(i64::MAX));
        if let Some(tenant) = list.tenant {
            query.push(" AND tenant = ").push_bind(tenant);
        }
        having_labels(&mut query, list.labels);
        let size = list.page_size.max(1) as usize;
        query
            .push(" ORDER BY id DESC LIMIT ")
            .push_bind(size as i64 + 1);
        let rows = query.build_query_as().fetch(&self.readers);
        Ok(page(
            rows,
            size,
            |resource: &ResourceRow| resource.body.len(),
            arguments,
        )
        .await?)
    }
}

async fn existing(connection: &mut Connection, name: &str) -> Result<ResourceRow, StatementError> {
    let found = sqlx::query_as("SELECT * FROM resource WHERE name = $1")
        .bind(name)
        .fetch_optional(connection)
        .await?;
    found.ok_or_else(|| {
        Error::ResourceNotFound {
            name: name.to_owned(),
        }
        .into()
    })
}

/// Inserts a row, or replaces the one of this name if allowed; `None` if it exists and must not be replaced.
async fn upsert(
    connection: &mut Connection,
    put: &PutResource,
) -> sqlx::Result<Option<ResourceRow>> {
    sqlx::query_as(
        "INSERT INTO resource (name, collection, body, create_time, update_time, tenant) VALUES ($1, $2, $3, $4, $4, $6)
         ON CONFLICT (name) DO UPDATE SET body = excluded.body, update_time = excluded.update_time WHERE $5
         RETURNING *",
    )
    .bind(&put.name)
    .bind(put.collection.as_str())
    .bind(put.body.as_ref())
    .bind(millis(put.now))
    .bind(put.replace)
    .bind(&put.tenant)
    .fetch_optional(connection)
    .await
}
