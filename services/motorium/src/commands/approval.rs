//! Resolution of approvals by the user at the terminal.

use motorium_client::Client;
use motorium_kit::client::Channel;
use motorium_messages::{Language, Message};
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;

use crate::error::Error;
use crate::output;

/// Approves or denies an action.
pub(crate) async fn resolve(
    client: &Client<Channel>,
    approval: &str,
    approve: bool,
    message: &str,
    language: Language,
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
    let outcome = if approve {
        Message::ProgressApproved
    } else {
        Message::ProgressDenied
    };
    output::line(&outcome.text(language));
    Ok(())
}

/// Returns the name of the user at the terminal.
pub(crate) fn user() -> String {
    std::env::var("USER").unwrap_or_default()
}
