//! Resolution of approvals by the user of the command line.

use motorium_client::Client;
use motorium_kit::client::Channel;
use motorium_proto::error::ErrorReport;
use motorium_proto::v1::orchestrator as wire;

/// Approves or denies an action as this user.
pub(crate) async fn resolve(
    client: &Client<Channel>,
    approval: &str,
    approve: bool,
    message: &str,
    user: String,
) -> Result<(), ErrorReport> {
    let request = wire::ResolveApprovalRequest {
        name: approval.to_owned(),
        approve,
        message: message.to_owned(),
        user,
        ..wire::ResolveApprovalRequest::default()
    };
    let resolved = client.raw().resolve_approval(request).await;
    resolved.map_err(|status| ErrorReport::from_status(&status))?;
    Ok(())
}

/// Returns the name of the user at the terminal.
pub(crate) fn user() -> String {
    std::env::var("USER").unwrap_or_default()
}
