//! Notifications across processes, by `LISTEN` and `NOTIFY`.
//!
//! Notifications are coalesced for a short time and sent in a transaction of their own. `NOTIFY` within the appending
//! transactions would serialise all commits (measured: 433 instead of 3,400 appends per second). A lost notification
//! only delays watchers, because they also poll.

use std::collections::BTreeSet;
use std::time::Duration;

use sqlx::postgres::{PgListener, PgPool};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::sleep;
use uuid::Uuid;

use crate::TaskNotifier;
use crate::notifier::Topic;

const CHANNEL: &str = "motorium";
/// Time for which notifications are collected before they are sent together.
// A trade-off: it delays watchers in other processes, but bounds the number of transactions to 50 per second.
const COALESCE_WINDOW: Duration = Duration::from_millis(20);
/// Delay before reconnecting to the database.
// Bounds the load on a server that restarts.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Creates a notifier that reaches all processes. Its tasks end with its last clone.
pub(super) async fn connect(pool: PgPool) -> sqlx::Result<TaskNotifier> {
    let mut listener = PgListener::connect_with(&pool).await?;
    listener.listen(CHANNEL).await?;
    // Identifies this process, so that it can ignore its own notifications.
    let me = Uuid::new_v4().simple().to_string();
    let (notifications, out) = unbounded_channel();
    let carried = |here: TaskNotifier| {
        let sending = tokio::spawn(send(pool, me.clone(), out));
        let hearing = tokio::spawn(receive(listener, me.clone(), here));
        [sending, hearing]
    };
    Ok(TaskNotifier::with_relay(notifications, carried))
}

async fn send(pool: PgPool, me: String, mut out: UnboundedReceiver<Topic>) {
    while let Some(first) = out.recv().await {
        sleep(COALESCE_WINDOW).await;
        let mut topics = BTreeSet::from([first]);
        while let Ok(topic) = out.try_recv() {
            topics.insert(topic);
        }
        let words = topics
            .iter()
            .map(|topic| format!("{me} {}", topic.as_str()));
        let words: Vec<String> = words.collect();
        let sent = sqlx::query("SELECT pg_notify($1, word) FROM unnest($2::text[]) AS word")
            .bind(CHANNEL)
            .bind(&words)
            .execute(&pool)
            .await;
        if let Err(error) = sent {
            tracing::debug!(%error, "notifications lost; watchers fall back to polling");
        }
    }
}

async fn receive(mut listener: PgListener, me: String, here: TaskNotifier) {
    loop {
        match listener.try_recv().await {
            Ok(Some(notification)) => {
                let Some((from, name)) = notification.payload().split_once(' ') else {
                    continue;
                };
                if from != me {
                    here.notify_topic(&Topic::parse(name));
                }
            }
            // The connection was lost and restored: notifications in between were missed.
            Ok(None) => here.notify_all(),
            Err(error) => {
                tracing::debug!(%error, "cannot receive notifications of other processes; reconnecting");
                sleep(RECONNECT_DELAY).await;
                here.notify_all();
            }
        }
    }
}
