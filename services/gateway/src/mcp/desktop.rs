//! Tools about a desktop itself: look at it, and act on it under a lease.
//!
//! Perception and Executor know no tenants, so that a caller with a name needs the role `admin` of the deployment.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use motorium_proto::limits::MAX_IMAGE_MESSAGE_BYTES;
use motorium_proto::v1::common::action::Action as WireAction;
use motorium_proto::v1::common::{self as common, target, text_input};
use motorium_proto::v1::executor as executor_wire;
use motorium_proto::v1::executor::executor_service_client::ExecutorServiceClient;
use motorium_proto::v1::perception as perception_wire;
use motorium_proto::v1::perception::perception_service_client::PerceptionServiceClient;
use rmcp::model::ContentBlock;
use uuid::Uuid;

use super::call::{Answered, CallContext, structured};
use super::tools::{Act, Action, ActionReport, Button, ElementReport, Look, ScreenReport};
use crate::error::Error;
use crate::upstream::DesktopService;

/// Quality of the image. Numbers and small texts stay readable.
const JPEG_QUALITY: u32 = 80;
/// Duration of the lease of one action: longer than any action, and short if this process ends in between.
const LEASE: Duration = Duration::from_secs(120);
/// Maximum time that an action waits.
const MAX_WAIT_SECONDS: u32 = 60;

impl CallContext<'_> {
    pub(super) async fn look(&self, look: Look) -> Answered {
        let (name, desktop) = self.desktop(&look.desktop).await?;
        let channel =
            self.upstream
                .desktop_channel(&self.caller, &desktop, DesktopService::Perception)?;
        let mut client = PerceptionServiceClient::new(channel)
            .max_decoding_message_size(MAX_IMAGE_MESSAGE_BYTES);
        let image = perception_wire::ImageOptions {
            format: perception_wire::ImageFormat::Jpeg.into(),
            quality: JPEG_QUALITY,
            ..Default::default()
        };
        let request = perception_wire::ObserveRequest {
            capture: Some(perception_wire::CaptureRequest {
                display: desktop.display,
                ..Default::default()
            }),
            max_elements: look.max_elements,
            annotated_image: Some(image),
            ..Default::default()
        };
        let seen = client.observe(request).await?.into_inner();
        let size = seen.frame.and_then(|frame| frame.size).unwrap_or_default();
        let elements = seen.scene.unwrap_or_default().elements;
        let report = ScreenReport {
            desktop: name,
            width: size.width,
            height: size.height,
            elements: elements.into_iter().map(element).collect(),
        };
        let mut result = structured(text_of(&report), &report, false);
        if let Some(common::Image {
            media_type,
            content: Some(common::image::Content::Data(data)),
            ..
        }) = seen.annotated_image
        {
            let image = ContentBlock::image(STANDARD.encode(data), media_type);
            result.content.push(image);
        }
        Ok(result.into())
    }

    pub(super) async fn act(&self, act: Act) -> Answered {
        let action = wire_action(act.action)?;
        let (_, desktop) = self.desktop(&act.desktop).await?;
        let channel =
            self.upstream
                .desktop_channel(&self.caller, &desktop, DesktopService::Executor)?;
        let mut client = ExecutorServiceClient::new(channel);
        let id = Uuid::new_v4();
        let request = executor_wire::AcquireDesktopRequest {
            display: desktop.display,
            holder: format!("{} (MCP) {id}", self.client_name()),
            ttl: Some(prost_types::Duration {
                seconds: LEASE.as_secs().cast_signed(),
                nanos: 0,
            }),
            ..Default::default()
        };
        let leased = client.acquire_desktop(request).await?.into_inner();
        let lease = leased.lease.unwrap_or_default();
        let request = executor_wire::PerformRequest {
            display: lease.display.clone(),
            epoch: lease.epoch,
            action_id: format!("mcp/{id}"),
            action: Some(action),
            ..Default::default()
        };
        let performed = tokio::select! {
            // Dropping the call stops its action and releases what it pressed.
            () = self.request.ct.cancelled() => None,
            performed = client.perform(request) => Some(performed),
        };
        let release = executor_wire::ReleaseDesktopRequest {
            display: lease.display,
            epoch: lease.epoch,
        };
        if let Err(status) = client.release_desktop(release).await {
            tracing::warn!(%status, "the desktop could not be released");
        }
        let outcome = match performed {
            Some(performed) => performed?.into_inner().outcome.unwrap_or_default(),
            None => common::ActionOutcome {
                result: common::ActionResult::Cancelled.into(),
                ..Default::default()
            },
        };
        let result = outcome.result();
        let name = result.as_str_name().trim_start_matches("ACTION_RESULT_");
        let report = ActionReport {
            result: name.to_ascii_lowercase(),
            detail: outcome.detail,
        };
        let text = [report.result.as_str(), report.detail.as_str()].join(" ");
        let is_error = result != common::ActionResult::Performed;
        Ok(structured(text.trim_end().to_owned(), &report, is_error).into())
    }

    /// Returns the named desktop, or the only one.
    async fn desktop(
        &self,
        name: &str,
    ) -> Result<(String, crate::upstream::DesktopAddress), Error> {
        let name = match name.rsplit('/').next().unwrap_or_default() {
            "" => self.upstream.only_desktop(&self.caller).await?,
            segment => segment.to_owned(),
        };
        let desktop = self.upstream.desktop(&self.caller, &name).await?;
        Ok((format!("desktops/{name}"), desktop))
    }
}

fn element(element: common::Element) -> ElementReport {
    let kind = element.kind().as_str_name();
    let kind = kind
        .trim_start_matches("ELEMENT_KIND_")
        .to_ascii_lowercase();
    let centre = element.centre.unwrap_or_default();
    ElementReport {
        id: element.id,
        kind,
        text: element.content,
        x: centre.x,
        y: centre.y,
        interactable: element.interactable,
    }
}

fn text_of(report: &ScreenReport) -> String {
    let mut lines = vec![format!(
        "{}: {}×{} pixels, {} elements. Texts are quoted as they stand on the screen.",
        report.desktop,
        report.width,
        report.height,
        report.elements.len()
    )];
    lines.extend(report.elements.iter().map(|one| {
        let mark = if one.interactable { " *" } else { "" };
        format!(
            "[{}]{mark} {} {:?} at {},{}",
            one.id, one.kind, one.text, one.x, one.y
        )
    }));
    lines.join("\n")
}

fn wire_action(action: Action) -> Result<common::Action, Error> {
    let at = |x, y| {
        Some(common::Target {
            target: Some(target::Target::Point(common::PixelPoint { x, y })),
        })
    };
    let action = match action {
        Action::Move { x, y } => WireAction::Move(common::MoveAction { to: at(x, y) }),
        Action::Click {
            x,
            y,
            button,
            count,
            modifiers,
        } => WireAction::Click(common::ClickAction {
            at: at(x, y),
            button: wire_button(button).into(),
            count,
            modifiers,
        }),
        Action::Drag {
            from_x,
            from_y,
            to_x,
            to_y,
        } => WireAction::Drag(common::DragAction {
            path: [at(from_x, from_y), at(to_x, to_y)]
                .into_iter()
                .flatten()
                .collect(),
            ..Default::default()
        }),
        Action::Scroll { x, y, right, down } => WireAction::Scroll(common::ScrollAction {
            at: at(x, y),
            x: right,
            y: down,
            ..Default::default()
        }),
        Action::Type { text } => WireAction::TypeText(common::TypeTextAction {
            text: Some(common::TextInput {
                source: Some(text_input::Source::Literal(text)),
            }),
            ..Default::default()
        }),
        Action::Key { chord } => WireAction::KeyChord(common::KeyChordAction {
            keys: vec![chord],
            ..Default::default()
        }),
        Action::Wait { seconds } if seconds > MAX_WAIT_SECONDS => {
            let problem = format!("waits at most {MAX_WAIT_SECONDS} seconds");
            return Err(Error::field("action.seconds", &problem));
        }
        Action::Wait { seconds } => WireAction::Wait(common::WaitAction {
            duration: Some(prost_types::Duration {
                seconds: seconds.into(),
                nanos: 0,
            }),
        }),
        Action::OpenApplication { name } => {
            WireAction::OpenApplication(common::OpenApplicationAction { name })
        }
        Action::OpenUrl { url } => WireAction::OpenUrl(common::OpenUrlAction { url }),
        Action::FocusWindow { title } => WireAction::FocusWindow(common::FocusWindowAction {
            window: Some(common::focus_window_action::Window::Title(title)),
        }),
    };
    Ok(common::Action {
        action: Some(action),
    })
}

fn wire_button(button: Button) -> common::Button {
    match button {
        Button::Left => common::Button::Left,
        Button::Right => common::Button::Right,
        Button::Middle => common::Button::Middle,
    }
}
