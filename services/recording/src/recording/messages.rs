//! Requests and responses in their recorded form: without image bytes, and without observations already in the recording.

use std::collections::VecDeque;

use bytes::Bytes;
use motorium_proto::v1::common::image::Content;
use motorium_proto::v1::common::{Frame, Image, Scene};
use motorium_proto::v1::{executor, perception, planner, tool};
use prost::Message;
use sha2::{Digest as _, Sha256};

/// Number of recent observations to which a request may refer. A request refers to the last one or two; the rest is reserve.
const MAX_RECENT_SCREENS: usize = 6;

/// A message that can be recorded.
pub trait RecordableMessage: Send {
    /// Returns the images in it.
    fn images(&mut self) -> Vec<&mut Image> {
        Vec::new()
    }

    /// Returns the frame and scene in it.
    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        None
    }

    /// Returns the planner's opaque conversation. Only its hash is recorded.
    fn conversation(&mut self) -> Option<&mut Bytes> {
        None
    }
}

macro_rules! plain {
    ($($message:ty),* $(,)?) => { $(impl RecordableMessage for $message {})* };
}

plain!(
    perception::CaptureRequest,
    perception::ObserveRequest,
    perception::CompareRequest,
    perception::CompareResponse,
    perception::WaitForIdleRequest,
    perception::WaitForIdleResponse,
    planner::ExtractResponse,
    planner::SummarizeResponse,
    planner::LocatePointerResponse,
    planner::ResolveTargetResponse,
    planner::ListBackendsRequest,
    planner::ListBackendsResponse,
    executor::AcquireDesktopRequest,
    executor::AcquireDesktopResponse,
    executor::PerformRequest,
    executor::PerformResponse,
    executor::LookUpActionRequest,
    executor::LookUpActionResponse,
    executor::FenceActionRequest,
    executor::FenceActionResponse,
    executor::ReleaseAllRequest,
    executor::ReleaseAllResponse,
    executor::GetPointerRequest,
    executor::GetPointerResponse,
    executor::ReadPageRequest,
    executor::ReadPageResponse,
    executor::PutFileRequest,
    executor::PutFileResponse,
    executor::GetFileRequest,
    executor::FileInfo,
    executor::StatFileRequest,
    executor::StatFileResponse,
    executor::GetCapabilitiesRequest,
    executor::GetCapabilitiesResponse,
    tool::InvokeRequest,
    tool::InvokeResponse,
);

impl RecordableMessage for perception::CaptureResponse {
    fn images(&mut self) -> Vec<&mut Image> {
        self.image.iter_mut().collect()
    }
}

impl RecordableMessage for perception::ObserveResponse {
    fn images(&mut self) -> Vec<&mut Image> {
        self.image
            .iter_mut()
            .chain(&mut self.annotated_image)
            .collect()
    }

    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }
}

impl RecordableMessage for planner::PlanResponse {
    fn images(&mut self) -> Vec<&mut Image> {
        self.annotated_image.iter_mut().collect()
    }
}

impl RecordableMessage for planner::PlanRequest {
    fn images(&mut self) -> Vec<&mut Image> {
        let past = self
            .history
            .iter_mut()
            .filter_map(|step| step.image.as_mut());
        let context = self.context.iter_mut();
        let of_user = context.flat_map(|context| &mut context.images);
        let of_user = of_user.filter_map(|one| one.image.as_mut());
        let images = self.image.iter_mut().chain(past);
        images.chain(of_user).collect()
    }

    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }

    fn conversation(&mut self) -> Option<&mut Bytes> {
        Some(&mut self.conversation)
    }
}

impl RecordableMessage for planner::ExtractRequest {
    fn images(&mut self) -> Vec<&mut Image> {
        self.image.iter_mut().collect()
    }

    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }
}

impl RecordableMessage for planner::SummarizeRequest {
    fn images(&mut self) -> Vec<&mut Image> {
        let past = self.history.iter_mut();
        past.filter_map(|step| step.image.as_mut()).collect()
    }
}

impl RecordableMessage for planner::LocatePointerRequest {
    fn images(&mut self) -> Vec<&mut Image> {
        self.annotated_image.iter_mut().collect()
    }
}

impl RecordableMessage for planner::ResolveTargetRequest {
    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }
}

/// Recently observed screens, by frame id, with the hash of frame and scene.
#[derive(Debug, Default)]
pub struct RecentScreens(VecDeque<(String, [u8; 32])>);

impl RecentScreens {
    /// Remembers the screen of a response.
    pub fn remember(&mut self, frame: &Option<Frame>, scene: &Option<Scene>) {
        let Some(frame) = frame else {
            return;
        };
        self.0.push_back((frame.id.clone(), hash(frame, scene)));
        // A request refers to a recent screen; an older one is recorded in full again.
        if self.0.len() > MAX_RECENT_SCREENS {
            self.0.pop_front();
        }
    }

    /// Removes a frame and scene from a request that are identical to a remembered response. A frame or scene that differs stays.
    pub fn deduplicate(&self, question: &mut dyn RecordableMessage) {
        strip_images(question);
        if let Some(conversation) = question.conversation()
            && !conversation.is_empty()
        {
            // A conversation grows with every step. A hash is enough to compare it.
            *conversation = Bytes::copy_from_slice(&Sha256::digest(&conversation[..]));
        }
        let Some((Some(frame), scene)) = question.screen() else {
            return;
        };
        // Latest first: a frame that was observed twice keeps its id and may have another scene.
        let known = self.0.iter().rev().find(|(id, _)| *id == frame.id);
        if known.is_some_and(|(_, known_hash)| *known_hash == hash(frame, scene)) {
            let id = frame.id.clone();
            *scene = None;
            *frame = Frame {
                id,
                ..Frame::default()
            };
        }
    }
}

fn hash(frame: &Frame, scene: &Option<Scene>) -> [u8; 32] {
    let scene = scene.as_ref().map(Message::encode_to_vec);
    Sha256::new()
        .chain_update(frame.encode_to_vec())
        .chain_update(scene.unwrap_or_default())
        .finalize()
        .into()
}

/// Removes image bytes. Their hash stays in the message.
pub(super) fn strip_images(message: &mut dyn RecordableMessage) {
    for image in message.images() {
        image.content = Some(Content::Data(Bytes::new()));
    }
}
