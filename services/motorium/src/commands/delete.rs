//! `motorium delete` and `motorium purge`: delete tasks and sessions.
//!
//! Files that no task uses any more are not removed here: the Orchestrator does that later.

use std::process::ExitCode;
use std::time::SystemTime;

use motorium_client::ENDED_STATES;
use motorium_kit::config::LayeredConfig;
use motorium_messages::Message;
use motorium_proto::error::ErrorReport;
use motorium_proto::limits::MAX_PAGE_SIZE;
use motorium_proto::v1::orchestrator as wire;
use prost_types::Timestamp;
use tonic::Status;

use super::connection::Connection;
use crate::cli::{Delete, Purge};
use crate::error::Error;
use crate::output;
use crate::show::text;

/// Reasons for which a task or session is left, because it was deleted or used since it was listed.
const LEFT: [&str; 4] = [
    "TASK_NOT_FOUND",
    "SESSION_NOT_FOUND",
    "SESSION_NOT_EMPTY",
    "TASK_NOT_ENDED",
];

/// Deletes the named tasks and sessions. Ends at the first one that cannot be deleted.
pub(crate) async fn delete(loaded: &LayeredConfig, args: Delete) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &args.server)?;
    let mut raw = connection.client.raw();
    for name in args.names {
        let deleted = if name.starts_with("tasks/") {
            let request = wire::DeleteTaskRequest {
                name: name.clone(),
                allow_missing: args.allow_missing,
            };
            raw.delete_task(request).await.map(drop)
        } else if name.starts_with("sessions/") {
            let request = wire::DeleteSessionRequest {
                name: name.clone(),
                force: args.force,
                allow_missing: args.allow_missing,
            };
            raw.delete_session(request).await.map(drop)
        } else {
            return Err(Error::Usage(text(Message::NotDeletable { name: &name })));
        };
        deleted.map_err(|status| connection.status(&status))?;
        output::line(&text(Message::Deleted { name: &name }));
    }
    Ok(ExitCode::SUCCESS)
}

/// Deletes the tasks that ended before, and then the sessions that have none.
pub(crate) async fn purge(loaded: &LayeredConfig, args: Purge) -> Result<ExitCode, Error> {
    let mut purge = Purging {
        connection: Connection::open(loaded, &args.server)?,
        before: SystemTime::now()
            .checked_sub(args.older_than)
            .unwrap_or(SystemTime::UNIX_EPOCH),
        dry_run: args.dry_run,
        tasks: 0,
        sessions: 0,
    };
    purge.tasks().await?;
    purge.sessions().await?;
    let Purging {
        tasks, sessions, ..
    } = purge;
    let message = match args.dry_run {
        true => Message::PurgeDryRun { tasks, sessions },
        false => Message::PurgeDone { tasks, sessions },
    };
    output::line(&text(message));
    Ok(ExitCode::SUCCESS)
}

/// A purge that is going on.
struct Purging {
    connection: Connection,
    before: SystemTime,
    dry_run: bool,
    tasks: u64,
    sessions: u64,
}

impl Purging {
    async fn tasks(&mut self) -> Result<(), Error> {
        let mut page_token = String::new();
        loop {
            let request = wire::ListTasksRequest {
                page_size: MAX_PAGE_SIZE,
                page_token,
                states: ENDED_STATES.map(i32::from).to_vec(),
                ..wire::ListTasksRequest::default()
            };
            let page = self.connection.client.raw().list_tasks(request).await;
            let page = page.map_err(|status| self.connection.status(&status))?;
            let page = page.into_inner();
            for task in page.tasks {
                if self.is_old(task.end_time) {
                    self.tasks += u64::from(self.delete_task(task.name).await?);
                }
            }
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(());
            }
        }
    }

    async fn delete_task(&self, name: String) -> Result<bool, Error> {
        if self.dry_run {
            output::line(&text(Message::WouldDelete { name: &name }));
            return Ok(true);
        }
        let request = wire::DeleteTaskRequest {
            name,
            allow_missing: false,
        };
        let deleted = self.connection.client.raw().delete_task(request).await;
        self.unless_left(deleted.map(drop))
    }

    async fn sessions(&mut self) -> Result<(), Error> {
        let mut page_token = String::new();
        loop {
            let request = wire::ListSessionsRequest {
                page_size: MAX_PAGE_SIZE,
                page_token,
            };
            let page = self.connection.client.raw().list_sessions(request).await;
            let page = page.map_err(|status| self.connection.status(&status))?;
            let page = page.into_inner();
            for session in page.sessions {
                if self.is_old(session.update_time) {
                    self.sessions += u64::from(self.delete_session(session.name).await?);
                }
            }
            page_token = page.next_page_token;
            if page_token.is_empty() {
                return Ok(());
            }
        }
    }

    async fn delete_session(&self, name: String) -> Result<bool, Error> {
        if self.dry_run {
            // Its tasks would be deleted first, so what is left decides.
            if self.keeps_tasks(&name).await? {
                return Ok(false);
            }
            output::line(&text(Message::WouldDelete { name: &name }));
            return Ok(true);
        }
        let request = wire::DeleteSessionRequest {
            name,
            ..wire::DeleteSessionRequest::default()
        };
        let deleted = self.connection.client.raw().delete_session(request).await;
        self.unless_left(deleted.map(drop))
    }

    /// Returns whether a session has a task that the purge would not delete.
    async fn keeps_tasks(&self, session: &str) -> Result<bool, Error> {
        let request = wire::ListTasksRequest {
            page_size: MAX_PAGE_SIZE,
            session: session.to_owned(),
            ..wire::ListTasksRequest::default()
        };
        let page = self.connection.client.raw().list_tasks(request).await;
        let page = page.map_err(|status| self.connection.status(&status))?;
        let page = page.into_inner();
        let kept = page.tasks.iter().any(|task| !self.is_old(task.end_time));
        Ok(kept || !page.next_page_token.is_empty())
    }

    fn is_old(&self, time: Option<Timestamp>) -> bool {
        let time = time.and_then(|time| SystemTime::try_from(time).ok());
        time.is_some_and(|time| time < self.before)
    }

    /// Returns false for a task or session that was deleted or used meanwhile.
    fn unless_left(&self, deleted: Result<(), Status>) -> Result<bool, Error> {
        let Err(status) = deleted else {
            return Ok(true);
        };
        let report = ErrorReport::from_status(&status);
        match LEFT.contains(&report.reason.as_str()) {
            true => Ok(false),
            false => Err(self.connection.error(report)),
        }
    }
}
