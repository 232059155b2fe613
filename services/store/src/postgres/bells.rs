//! Rings from process to process, by `LISTEN` and `NOTIFY`.
//!
//! Rings are gathered for a moment and sent in a transaction of their own: within the transactions that they tell of,
//! they would make all commits wait for each other (measured: 433 instead of 3,400 appends a second). One that is lost
//! costs time and nothing else, because watchers also look by themselves.

use std::collections::BTreeSet;
use std::time::Duration;

use motorium_proto::domain::id::TaskName;
use sqlx::postgres::{PgListener, PgPool};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;
use uuid::Uuid;

use crate::Doorbell;

const CHANNEL: &str = "motorium";
/// Rings within this time go out together.
const GATHER: Duration = Duration::from_millis(20);
/// Before the database is asked again after it was away.
const PAUSE: Duration = Duration::from_secs(1);

/// A doorbell that rings in all processes. What carries the rings ends with its last clone.
pub(super) async fn connect(pool: PgPool) -> sqlx::Result<Doorbell> {
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    // Names this process, which does not need to hear its own rings again.
    let me = Uuid::new_v4().simple().to_string();
    let (rings, out) = unbounded_channel();
    let carried = |here: Doorbell| {
        let sending = tokio::spawn(send(pool, me.clone(), out));
        let hearing = tokio::spawn(hear(listener, me.clone(), here));
        [sending, hearing]
    };
    Ok(Doorbell::carried(rings, carried))
}

async fn send(pool: PgPool, me: String, mut out: UnboundedReceiver<TaskName>) {
    while let Some(first) = out.recv().await {
        sleep(GATHER).await;
        let mut tasks = BTreeSet::from([first]);
        while let Ok(task) = out.try_recv() {
            tasks.insert(task);
        }
        let words: Vec<String> = tasks.iter().map(|task| format!("{me} {task}")).collect();
        let rung = sqlx::query("SELECT pg_notify($1, word) FROM unnest($2::text[]) AS word")
            .bind(CHANNEL)
            .bind(&words)
            .execute(&pool)
            .await;
        if let Err(error) = rung {
            tracing::debug!(%error, "rings are lost; watchers look by themselves");
        }
    }
}

async fn hear(mut listener: PgListener, me: String, here: Doorbell) {
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) => {
                let Some((from, name)) = notification.payload().split_once(' ') else {
                    continue;
                };
                if from != me
                    && let Ok(task) = TaskName::parse("task", name)
                {
                    here.ring(&task);
                }
            }
            // The connection was lost and is there again: whatever was rung meanwhile was not heard.
            Ok(None) => here.ring_all(),
            Err(error) => {
                tracing::debug!(%error, "rings of other processes cannot be heard; trying again");
                sleep(PAUSE).await;
                here.ring_all();
            }
        }
    }
}
