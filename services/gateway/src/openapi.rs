//! The description of the REST interface, as OpenAPI.
//!
//! It describes neither gRPC-Web, which the contracts do, nor WebSockets, for which OpenAPI has no words.

use axum::Json;
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Description;

use crate::live::frame;
use crate::resources::{self, ContractSchemas};
use crate::{chat, files, session_api};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Motorium",
        description = "REST interface of the gateway. Everything else is served over gRPC and gRPC-Web."
    ),
    paths(
        session_api::log_in,
        session_api::create_link,
        session_api::describe_session,
        session_api::log_out,
        files::artifact,
        files::upload,
        files::export_task,
        files::export_session,
        chat::description::send,
        chat::description::stop,
        chat::description::acknowledge,
        chat::description::follow,
        chat::description::create,
        chat::description::get,
        resources::description::list_tasks,
        resources::description::get_task,
        resources::description::list_steps,
        resources::description::list_approvals_of_task,
        resources::description::list_approvals,
        resources::description::list_desktops,
        resources::description::get_desktop,
        resources::description::get_approval,
        frame::frame_of_task,
        frame::frame_of_desktop,
        resources::description::list_sessions,
        resources::description::get_session,
        resources::description::create_task,
        resources::description::delete_task,
        resources::description::create_session,
        resources::description::delete_session,
        resources::description::cancel_task,
        resources::description::pause_task,
        resources::description::resume_task,
        resources::description::take_over,
        resources::description::hand_back,
        resources::description::send_message,
        resources::description::approve,
        resources::description::deny,
        resources::description::drain_desktop,
        resources::description::undrain_desktop,
        resources::description::get_policy,
        resources::description::test_policy,
    ),
    modifiers(&ContractSchemas)
)]
struct Interface;

/// `GET /api/openapi.json`
pub(crate) async fn describe() -> Json<Description> {
    Json(Interface::openapi())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_described() {
        let description = Interface::openapi();
        let paths: Vec<&str> = description.paths.paths.keys().map(String::as_str).collect();
        insta::assert_debug_snapshot!(paths);
    }
}
