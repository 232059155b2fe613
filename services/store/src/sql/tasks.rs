//! Queries for tasks, their events and their leases.
//!
//! Only statements that every database understands. `sqlite` and `postgres` have the rest.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::{Stream, TryStreamExt as _};
use motorium_proto::domain::id::{EventSeq, TaskEpoch, TaskName};
use motorium_proto::limits::MAX_PAGE_BYTES;
use sqlx::QueryBuilder;

use super::requests::{find_completed, record_completed};
use super::rows::{WithId, having_labels, millis, set_labels};
use super::{Connection, Database, StatementError, Store};
use crate::invariants::is_gapless;
use crate::tokens::{ListArguments, PageToken};
use crate::{
    Append, Appended, Claim, CreateTask, Created, Error, EventRow, ListTasks, NewEvent, Page,
    SessionQuery, TaskRow,
};

/// Maximum number of events in one statement.
// SQLite accepts 32,766 values per statement, and an event has six.
pub(super) const MAX_EVENTS_PER_STATEMENT: usize = 1000;

impl Store {
    pub(super) async fn create(&self, task: CreateTask) -> Result<Created, StatementError> {
        let mut writing = self.write().await?;
        if let Some(done) = find_completed(&mut writing, task.request.as_ref(), task.now).await? {
            let first = TaskName::parse("name", &done)
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
            return Ok(Created {
                task: existing(&mut writing, &first).await?,
                repeated: true,
            });
        }
        if let Some(session) = &task.session {
            touch_session(&mut writing, session, task.now).await?;
        }
        let id = insert(&mut writing, &task)
            .await?
            .ok_or_else(|| Error::TaskExists {
                task: task.name.clone(),
            })?;
        let name = task.name.to_string();
        set_labels(&mut writing, &name, &task.labels).await?;
        insert_events(
            &mut writing,
            id,
            EventSeq(1),
            std::slice::from_ref(&task.first_event),
            None,
        )
        .await?;
        record_completed(&mut writing, task.request.as_ref(), &name, task.now).await?;
        let created = existing(&mut writing, &task.name).await?;
        writing.commit().await?;
        Ok(Created {
            task: created,
            repeated: false,
        })
    }

    pub(super) async fn task(&self, name: &TaskName) -> Result<TaskRow, StatementError> {
        let mut reading = self.readers.acquire().await?;
        existing(&mut reading, name).await
    }

    pub(super) async fn list(&self, list: ListTasks) -> Result<Page<TaskRow>, StatementError> {
        let arguments = arguments(&list);
        let after = PageToken::after(list.page_token.as_deref(), arguments.clone())?;
        let mut query = QueryBuilder::new("SELECT * FROM task WHERE id < ");
        query.push_bind(after.unwrap_or(i64::MAX));
        if !list.states.is_empty() {
            in_states(query.push(" AND "), &list.states);
        }
        if let Some(session) = list.session {
            query.push(" AND session = ").push_bind(session);
        }
        if let Some(tenant) = list.tenant {
            query.push(" AND tenant = ").push_bind(tenant);
        }
        having_labels(&mut query, list.labels);
        // One row more than requested shows whether there is another page.
        let size = list.page_size.max(1) as usize;
        query
            .push(" ORDER BY id DESC LIMIT ")
            .push_bind(size as i64 + 1);
        let rows = query.build_query_as().fetch(&self.readers);
        Ok(page(rows, size, |task: &TaskRow| task.snapshot.len(), arguments).await?)
    }

    pub(super) async fn claimable_tasks(
        &self,
        states: &[i32],
        owner: &str,
        now: SystemTime,
        limit: u32,
    ) -> Result<Vec<TaskRow>, StatementError> {
        let now = millis(now);
        let mut query = QueryBuilder::new("SELECT * FROM task WHERE ");
        in_states(&mut query, states);
        query.push(" AND run_after <= ").push_bind(now);
        query
            .push(" AND (owner IS NULL OR owner = ")
            .push_bind(owner.to_owned());
        query.push(" OR lease_until <= ").push_bind(now);
        query
            .push(") ORDER BY priority DESC, id LIMIT ")
            .push_bind(i64::from(limit));
        Ok(query.build_query_as().fetch_all(&self.readers).await?)
    }

    pub(super) async fn predecessor(
        &self,
        session: SessionQuery,
    ) -> Result<Option<TaskRow>, StatementError> {
        let now = millis(session.now);
        let name = session.task.to_string();
        let mut query = QueryBuilder::new("SELECT * FROM task WHERE session = ");
        query.push_bind(session.session);
        query.push(" AND name <> ").push_bind(name.clone());
        in_states(query.push(" AND ("), &session.started);
        query.push(" OR (state = ").push_bind(session.waiting);
        query.push(" AND run_after <= ").push_bind(now);
        query.push(" AND (lease_until > ").push_bind(now);
        query
            .push(" OR id < (SELECT id FROM task WHERE name = ")
            .push_bind(name)
            .push("))))");
        if session.leased_only {
            query.push(" AND lease_until > ").push_bind(now);
        }
        query.push(" ORDER BY id LIMIT 1");
        Ok(query.build_query_as().fetch_optional(&self.readers).await?)
    }

    pub(super) async fn claim_task(
        &self,
        name: &TaskName,
        owner: &str,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<Option<Claim>, StatementError> {
        let mut writing = self.write().await?;
        let taken: Option<TaskRow> = sqlx::query_as(
            "UPDATE task SET owner = $2, lease_until = $3, epoch = epoch + 1
             WHERE name = $1 AND (owner IS NULL OR owner = $2 OR lease_until <= $4) RETURNING *",
        )
        .bind(name.to_string())
        .bind(owner)
        .bind(millis(now + ttl))
        .bind(millis(now))
        .fetch_optional(&mut *writing)
        .await?;
        if taken.is_none() {
            existing(&mut writing, name).await?;
        }
        writing.commit().await?;
        Ok(taken.map(|task| Claim {
            epoch: task.epoch,
            task,
        }))
    }

    pub(super) async fn renew_lease(
        &self,
        name: &TaskName,
        epoch: TaskEpoch,
        ttl: Duration,
        now: SystemTime,
    ) -> Result<(), StatementError> {
        let kept = sqlx::query("UPDATE task SET lease_until = $3 WHERE name = $1 AND epoch = $2")
            .bind(name.to_string())
            .bind(epoch.0)
            .bind(millis(now + ttl))
            .execute(&self.writer)
            .await?;
        if kept.rows_affected() == 0 {
            return Err(Error::LeaseLost { task: name.clone() }.into());
        }
        Ok(())
    }

    pub(super) async fn release_lease(
        &self,
        name: &TaskName,
        epoch: TaskEpoch,
    ) -> Result<(), StatementError> {
        // The epoch also increases here, so that the former owner cannot write any more even if no one claims the task.
        sqlx::query("UPDATE task SET owner = NULL, lease_until = 0, epoch = epoch + 1 WHERE name = $1 AND epoch = $2")
            .bind(name.to_string())
            .bind(epoch.0)
            .execute(&self.writer)
            .await?;
        Ok(())
    }

    pub(super) async fn read(
        &self,
        name: &TaskName,
        after: EventSeq,
        limit: u32,
    ) -> Result<Vec<EventRow>, StatementError> {
        let mut reading = self.readers.acquire().await?;
        let events: Vec<EventRow> = sqlx::query_as(
            "SELECT seq, at, kind, body FROM event
             WHERE task = (SELECT id FROM task WHERE name = $1) AND seq > $2 ORDER BY seq LIMIT $3",
        )
        .bind(name.to_string())
        .bind(after.0)
        .bind(i64::from(limit))
        .fetch_all(&mut *reading)
        .await?;
        if events.is_empty() {
            existing(&mut reading, name).await?;
        }
        debug_assert!(
            is_gapless(after, events.iter().map(|event| event.seq)),
            "{name}: a gap after {after:?}"
        );
        Ok(events)
    }

    pub(super) async fn read_notes(
        &self,
        name: &TaskName,
    ) -> Result<Vec<(EventSeq, Bytes)>, StatementError> {
        let mut reading = self.readers.acquire().await?;
        existing(&mut reading, name).await?;
        let rows: Vec<(i64, Vec<u8>)> = sqlx::query_as(
            "SELECT seq, notes FROM event
             WHERE task = (SELECT id FROM task WHERE name = $1) AND notes IS NOT NULL ORDER BY seq",
        )
        .bind(name.to_string())
        .fetch_all(&mut *reading)
        .await?;
        let noted = rows
            .into_iter()
            .map(|(seq, notes)| (EventSeq(seq), notes.into()));
        Ok(noted.collect())
    }
}

/// Appends as part of the caller's transaction. A rejected append changes nothing.
pub(super) async fn append_in_transaction(
    connection: &mut Connection,
    append: &Append,
) -> Result<Appended, StatementError> {
    if let Some(done) = find_completed(connection, append.request.as_ref(), append.now).await? {
        return Ok(Appended {
            repeated: true,
            ..parse_appended(&done)?
        });
    }
    let Some((id, last)) = advance(connection, append).await? else {
        return Err(rejection(connection, append).await?.into());
    };
    let first = EventSeq(last - append.events.len() as i64 + 1);
    insert_events(connection, id, first, &append.events, append.notes.as_ref()).await?;
    record_completed(
        connection,
        append.request.as_ref(),
        &format!("{}..{last}", first.0),
        append.now,
    )
    .await?;
    Ok(Appended {
        first_seq: first,
        last_seq: EventSeq(last),
        repeated: false,
    })
}

/// Returns the row of a task, or an error if there is none.
pub(super) async fn existing(
    connection: &mut Connection,
    name: &TaskName,
) -> Result<TaskRow, StatementError> {
    let found = sqlx::query_as("SELECT * FROM task WHERE name = $1").bind(name.to_string());
    let found = found.fetch_optional(connection).await?;
    found.ok_or_else(|| Error::TaskNotFound { task: name.clone() }.into())
}

/// Updates the time of a session, which keeps it from being deleted before its new task is stored.
async fn touch_session(
    connection: &mut Connection,
    session: &str,
    now: SystemTime,
) -> Result<(), StatementError> {
    let touched = sqlx::query("UPDATE resource SET update_time = $2 WHERE name = $1")
        .bind(session)
        .bind(millis(now))
        .execute(connection)
        .await?;
    if touched.rows_affected() == 0 {
        return Err(Error::ResourceNotFound {
            name: session.to_owned(),
        }
        .into());
    }
    Ok(())
}

/// Inserts the row of a task; `None` if the name is taken.
async fn insert(connection: &mut Connection, task: &CreateTask) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "INSERT INTO task (name, uid, session, state, priority, run_after, snapshot, last_seq, epoch, owner,
                           lease_until, create_time, update_time, tenant)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 1, 0, NULL, 0, $8, $8, $9)
         ON CONFLICT (name) DO NOTHING RETURNING id",
    )
    .bind(task.name.to_string())
    .bind(&task.uid)
    .bind(&task.session)
    .bind(task.state)
    .bind(task.priority)
    .bind(task.run_after.map_or(0, millis))
    .bind(task.snapshot.as_ref())
    .bind(millis(task.now))
    .bind(&task.tenant)
    .fetch_optional(connection)
    .await
}

/// Takes the next sequence numbers. The update is both the fence and the sequence: it only succeeds if the epoch still
/// matches, and it locks the row for other appends. `None` if the row was not updated.
async fn advance(connection: &mut Connection, append: &Append) -> sqlx::Result<Option<(i64, i64)>> {
    let (state, snapshot) = append
        .view
        .as_ref()
        .map(|(state, snapshot)| (*state, snapshot.as_ref()))
        .unzip();
    sqlx::query_as(
        "UPDATE task SET last_seq = last_seq + $2, update_time = $3, state = COALESCE($4, state),
                         snapshot = COALESCE($5, snapshot), lease_until = COALESCE($8, lease_until)
         WHERE name = $1 AND ($6 IS NULL OR epoch = $6) AND ($7 IS NULL OR last_seq = $7) RETURNING id, last_seq",
    )
    .bind(append.name.to_string())
    .bind(append.events.len() as i64)
    .bind(millis(append.now))
    .bind(state)
    .bind(snapshot)
    .bind(append.epoch.map(|epoch| epoch.0))
    .bind(append.expected_seq.map(|seq| seq.0))
    .bind(append.lease_until().map(millis))
    .fetch_optional(connection)
    .await
}

/// Returns the reason why the row was not updated. A lost lease is reported first, because nothing else matters then.
pub(super) async fn rejection(
    connection: &mut Connection,
    append: &Append,
) -> Result<Error, StatementError> {
    let task = existing(connection, &append.name).await?;
    Ok(match append.expected_seq {
        _ if append.epoch.is_some_and(|epoch| epoch != task.epoch) => Error::LeaseLost {
            task: append.name.clone(),
        },
        Some(expected) => Error::Conflict {
            task: append.name.clone(),
            expected,
            last: task.last_seq,
        },
        None => Error::Failed("the task's row was not updated for an unknown reason".into()),
    })
}

async fn insert_events(
    connection: &mut Connection,
    task: i64,
    first: EventSeq,
    events: &[NewEvent],
    notes: Option<&Bytes>,
) -> sqlx::Result<()> {
    let last = EventSeq(first.0 + events.len() as i64 - 1);
    let numbered: Vec<_> = (first.0..).zip(events).collect();
    for batch in numbered.chunks(MAX_EVENTS_PER_STATEMENT) {
        let mut query = QueryBuilder::new("INSERT INTO event (task, seq, at, kind, body, notes) ");
        query.push_values(batch, |mut row, (seq, event)| {
            row.push_bind(task)
                .push_bind(*seq)
                .push_bind(millis(event.at))
                .push_bind(event.kind);
            row.push_bind(event.body.as_ref());
            row.push_bind(notes.filter(|_| *seq == last.0).map(AsRef::as_ref));
        });
        query.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// Parses the recorded result of an append.
fn parse_appended(done: &str) -> sqlx::Result<Appended> {
    let numbers = done
        .split_once("..")
        .and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
    let (first, last) = numbers
        .ok_or_else(|| sqlx::Error::Decode(format!("`{done}` is not a range of events").into()))?;
    Ok(Appended {
        first_seq: EventSeq(first),
        last_seq: EventSeq(last),
        repeated: true,
    })
}

pub(super) fn in_states(query: &mut QueryBuilder<Database>, states: &[i32]) {
    query.push("state IN (");
    let mut list = query.separated(", ");
    for state in states {
        list.push_bind(*state);
    }
    query.push(")");
}

fn arguments(list: &ListTasks) -> ListArguments {
    let states: Vec<String> = list.states.iter().map(ToString::to_string).collect();
    ListArguments::of("tasks")
        .with(&states.join(","))
        .with(list.session.as_deref().unwrap_or_default())
        .with_tenant(list.tenant.as_deref())
        .with_labels(&list.labels)
}

/// Reads rows until a page is full, by their number or their bytes. One row more shows whether there is another page.
pub(super) async fn page<T>(
    mut found: impl Stream<Item = sqlx::Result<WithId<T>>> + Unpin,
    size: usize,
    bytes: impl Fn(&T) -> usize,
    arguments: ListArguments,
) -> sqlx::Result<Page<T>> {
    let mut rows: Vec<WithId<T>> = Vec::new();
    let mut left = MAX_PAGE_BYTES;
    let mut more = false;
    while let Some(row) = found.try_next().await? {
        let length = bytes(&row.row);
        // A single row of any size makes a page: otherwise the list would end before it.
        more = rows.len() == size || (length > left && !rows.is_empty());
        if more {
            break;
        }
        left = left.saturating_sub(length);
        rows.push(row);
    }
    let next = rows
        .last()
        .filter(|_| more)
        .map(|last| PageToken::new(arguments, last.id).format());
    Ok(Page {
        items: rows.into_iter().map(|numbered| numbered.row).collect(),
        next,
    })
}
