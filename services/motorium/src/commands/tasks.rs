//! `motorium tasks`: lists, shows and controls tasks.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use motorium_client::Client;
use motorium_kit::client::Channel;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;
use tonic::{Response, Status};

use super::{connect, service_error};
use crate::cli::{Tasks, TasksCommand};
use crate::error::Error;
use crate::output;
use crate::show::table;

/// Runs a subcommand of `motorium tasks`.
pub(crate) async fn tasks(args: Tasks) -> Result<ExitCode, Error> {
    let client = connect(&args.server)?;
    let reach =
        |status: Status| service_error(&args.server.server, ErrorReport::from_status(&status));
    let mut raw = client.raw();
    let request_id = String::new();
    match args.command {
        TasksCommand::List { limit, names } => {
            let request = wire::ListTasksRequest {
                page_size: limit,
                ..wire::ListTasksRequest::default()
            };
            let page = raw.list_tasks(request).await.map_err(reach)?.into_inner();
            if names {
                page.tasks.iter().for_each(|task| output::line(&task.name));
            } else {
                output::line(&table::tasks(&page.tasks));
            }
        }
        TasksCommand::Show { name } => show(&client, &full_name(&name)).await?,
        TasksCommand::Steps { name } => {
            let steps = client
                .list_steps(&full_name(&name))
                .await
                .map_err(Error::Service)?;
            output::line(&table::steps(&steps));
        }
        TasksCommand::Watch {
            session: Some(session),
            ..
        } => return super::watch_session::watch(&client, &session).await,
        TasksCommand::Watch { name, .. } => {
            let name = full_name(&name.unwrap_or_default());
            return super::run::watch(&client, &name, false).await;
        }
        TasksCommand::Cancel { name } => {
            let request = wire::CancelTaskRequest {
                name: full_name(&name),
                reason: String::new(),
                request_id,
            };
            state(
                raw.cancel_task(request)
                    .await
                    .map(Response::into_inner)
                    .map_err(reach)?
                    .task,
            );
        }
        TasksCommand::Pause { name } => {
            let request = wire::PauseTaskRequest {
                name: full_name(&name),
                request_id,
            };
            state(
                raw.pause_task(request)
                    .await
                    .map(Response::into_inner)
                    .map_err(reach)?
                    .task,
            );
        }
        TasksCommand::Resume { name } => {
            let request = wire::ResumeTaskRequest {
                name: full_name(&name),
                request_id,
            };
            state(
                raw.resume_task(request)
                    .await
                    .map(Response::into_inner)
                    .map_err(reach)?
                    .task,
            );
        }
        TasksCommand::Answer { name, message } => {
            let message = message.unwrap_or_default();
            let request = wire::AcknowledgeUserActionRequest {
                name: full_name(&name),
                message,
                request_id,
            };
            state(
                raw.acknowledge_user_action(request)
                    .await
                    .map(Response::into_inner)
                    .map_err(reach)?
                    .task,
            );
        }
        TasksCommand::Tell { name, message } => {
            let request = wire::SendMessageRequest {
                name: full_name(&name),
                text: message,
                request_id,
            };
            state(
                raw.send_message(request)
                    .await
                    .map(Response::into_inner)
                    .map_err(reach)?
                    .task,
            );
        }
        TasksCommand::Approvals { name } => {
            let parent = name.map_or_else(|| "tasks/-".to_owned(), |name| full_name(&name));
            let approvals = waiting(&client, &parent).await?;
            output::line(&table::approvals(&approvals));
        }
        TasksCommand::Approve { name } => {
            let name = approval_name(&client, &name).await?;
            resolve(&client, &name, true, "").await?;
        }
        TasksCommand::Deny { name, message } => {
            let name = approval_name(&client, &name).await?;
            resolve(&client, &name, false, &message.unwrap_or_default()).await?;
        }
        TasksCommand::TakeOver { name } => {
            let request = wire::TakeOverRequest {
                name: full_name(&name),
                user: user(),
                request_id,
            };
            let taken = raw.take_over(request).await.map(Response::into_inner);
            state(taken.map_err(reach)?.task);
        }
        TasksCommand::HandBack { name, message } => {
            let request = wire::HandBackRequest {
                name: full_name(&name),
                message: message.unwrap_or_default(),
                request_id,
            };
            let back = raw.hand_back(request).await.map(Response::into_inner);
            state(back.map_err(reach)?.task);
        }
        TasksCommand::Export { name, to, html } => {
            super::export::export(&client, &full_name(&name), to, html).await?;
        }
        TasksCommand::Save { name, folder } => save(&client, &full_name(&name), &folder).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the name of the user at the terminal.
fn user() -> String {
    std::env::var("USER").unwrap_or_default()
}

/// Lists the pending approvals.
async fn waiting(client: &Client<Channel>, parent: &str) -> Result<Vec<wire::Approval>, Error> {
    let request = wire::ListApprovalsRequest {
        parent: parent.to_owned(),
        ..wire::ListApprovalsRequest::default()
    };
    let listed = client.raw().list_approvals(request).await;
    let listed = listed.map_err(|status| Error::Service(ErrorReport::from_status(&status)))?;
    Ok(listed.into_inner().approvals)
}

/// Returns the approval with this name, or the pending one of the task with this name.
async fn approval_name(client: &Client<Channel>, name: &str) -> Result<String, Error> {
    if name.contains("/approvals/") {
        return Ok(full_name(name));
    }
    let task = full_name(name);
    let waiting = waiting(client, &task).await?;
    let first = waiting.into_iter().next();
    let first = first.ok_or_else(|| Error::Usage(format!("{task} has no pending approval")))?;
    Ok(first.name)
}

/// Approves or denies an action.
pub(crate) async fn resolve(
    client: &Client<Channel>,
    approval: &str,
    approve: bool,
    message: &str,
) -> Result<(), Error> {
    let request = wire::ResolveApprovalRequest {
        name: approval.to_owned(),
        approve,
        message: message.to_owned(),
        request_id: String::new(),
        user: user(),
    };
    let resolved = client.raw().resolve_approval(request).await;
    resolved.map_err(|status| Error::Service(ErrorReport::from_status(&status)))?;
    output::line(if approve { "approved" } else { "denied" });
    Ok(())
}

fn full_name(name: &str) -> String {
    if name.contains('/') {
        name.to_owned()
    } else {
        format!("tasks/{name}")
    }
}

fn state(task: Option<wire::Task>) {
    let task = task.unwrap_or_default();
    output::line(&format!("{} {}", task.name, table::state(task.state())));
}

async fn show(client: &Client<Channel>, name: &str) -> Result<(), Error> {
    let task = client.get_task(name).await.map_err(Error::Service)?;
    let steps = client.list_steps(name).await.map_err(Error::Service)?;
    output::line(&table::tasks(std::slice::from_ref(&task)));
    output::line(&table::steps(&steps));
    Ok(())
}

/// Saves the screenshots of a task's steps and the files it fetched.
pub(crate) async fn save(client: &Client<Channel>, task: &str, folder: &Path) -> Result<(), Error> {
    let unwritable = |source| Error::File {
        path: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    for step in client.list_steps(task).await.map_err(Error::Service)? {
        let pictures = [
            (&step.frame_before, "before"),
            (&step.annotated_frame, "annotated"),
        ];
        for (artifact, which) in pictures
            .into_iter()
            .filter(|(artifact, _)| !artifact.is_empty())
        {
            let name = format!("step-{:02}-{which}", step.number);
            save_artifact(client, artifact, folder, Some(&name)).await?;
        }
    }
    for artifact in fetched_files(client, task).await? {
        save_artifact(client, &artifact, folder, None).await?;
    }
    Ok(())
}

/// Saves an artifact under its own file name, or as `stem`: a screenshot shared by several steps is stored once, and
/// saved for each of them.
async fn save_artifact(
    client: &Client<Channel>,
    name: &str,
    folder: &Path,
    stem: Option<&str>,
) -> Result<(), Error> {
    let (artifact, content) = client.get_artifact(name).await.map_err(Error::Service)?;
    let (file_name, content) = crate::png::to_png(&artifact.file_name, content);
    let extension = Path::new(&file_name)
        .extension()
        .and_then(|extension| extension.to_str());
    let file_name = match (stem, extension) {
        (Some(stem), Some(extension)) => format!("{stem}.{extension}"),
        _ => file_name,
    };
    let path = folder.join(file_name);
    fs::write(&path, content).map_err(|source| Error::File { path, source })
}

/// Returns the artifacts of the files that the task fetched.
async fn fetched_files(client: &Client<Channel>, task: &str) -> Result<Vec<String>, Error> {
    use futures::StreamExt as _;
    use motorium_client::Update;

    let mut names = Vec::new();
    let mut updates = client.watch(task);
    while let Some(update) = updates.next().await {
        let Update::Event { event, .. } = update.map_err(Error::Service)? else {
            continue;
        };
        if let Some(wire::event::Kind::ResultFetched(fetched)) = event.kind {
            names.extend(fetched.artifact.map(|artifact| artifact.name));
        }
    }
    Ok(names)
}
