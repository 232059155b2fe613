//! Questions and answers as they are noted: without the bytes of pictures, and without what was said before.

use std::collections::VecDeque;

use bytes::Bytes;
use motorium_proto::v1::common::image::Content;
use motorium_proto::v1::common::{Frame, Image, Scene};
use motorium_proto::v1::{executor, perception, planner, tool};
use prost::Message;
use sha2::{Digest as _, Sha256};

/// Screens that a question is likely to be about.
const REMEMBERED: usize = 6;

/// A message that can be noted.
pub(crate) trait Said: Send {
    /// Pictures in it.
    fn pictures(&mut self) -> Vec<&mut Image> {
        Vec::new()
    }

    /// The screen that it is about.
    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        None
    }

    /// What a planner wants to see again; only whether it does matters here.
    fn conversation(&mut self) -> Option<&mut Bytes> {
        None
    }
}

macro_rules! plain {
    ($($message:ty),* $(,)?) => { $(impl Said for $message {})* };
}

plain!(
    perception::CaptureRequest,
    perception::ObserveRequest,
    perception::CompareRequest,
    perception::CompareResponse,
    perception::AwaitQuietRequest,
    perception::AwaitQuietResponse,
    planner::PlanResponse,
    planner::ExtractResponse,
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

impl Said for perception::CaptureResponse {
    fn pictures(&mut self) -> Vec<&mut Image> {
        self.image.iter_mut().collect()
    }
}

impl Said for perception::ObserveResponse {
    fn pictures(&mut self) -> Vec<&mut Image> {
        self.image
            .iter_mut()
            .chain(&mut self.marked_image)
            .collect()
    }

    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }
}

impl Said for planner::PlanRequest {
    fn pictures(&mut self) -> Vec<&mut Image> {
        let past = self
            .history
            .iter_mut()
            .filter_map(|step| step.image.as_mut());
        self.image.iter_mut().chain(past).collect()
    }

    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }

    fn conversation(&mut self) -> Option<&mut Bytes> {
        Some(&mut self.conversation)
    }
}

impl Said for planner::ExtractRequest {
    fn pictures(&mut self) -> Vec<&mut Image> {
        self.image.iter_mut().collect()
    }

    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }
}

impl Said for planner::LocatePointerRequest {
    fn pictures(&mut self) -> Vec<&mut Image> {
        self.marked_image.iter_mut().collect()
    }
}

impl Said for planner::ResolveTargetRequest {
    fn screen(&mut self) -> Option<(&mut Option<Frame>, &mut Option<Scene>)> {
        Some((&mut self.frame, &mut self.scene))
    }
}

/// Screens that were answered a short while ago, by the hash of what was said of them.
#[derive(Debug, Default)]
pub(crate) struct Known(VecDeque<(String, [u8; 32])>);

impl Known {
    /// Remembers the screen of an answer.
    pub(crate) fn remember(&mut self, frame: &Option<Frame>, scene: &Option<Scene>) {
        let Some(frame) = frame else {
            return;
        };
        self.0.push_back((frame.id.clone(), hash(frame, scene)));
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// Takes out of a question what an answer has said already, word for word. What differs from it stays.
    pub(crate) fn shorten(&self, question: &mut dyn Said) {
        without_pictures(question);
        if let Some(conversation) = question.conversation()
            && !conversation.is_empty()
        {
            *conversation = Bytes::copy_from_slice(&Sha256::digest(&conversation[..]));
        }
        let Some((Some(frame), scene)) = question.screen() else {
            return;
        };
        let known = self.0.iter().rev().find(|(id, _)| *id == frame.id);
        if known.is_some_and(|(_, said)| *said == hash(frame, scene)) {
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

/// A picture is its hash.
pub(super) fn without_pictures(said: &mut dyn Said) {
    for picture in said.pictures() {
        picture.content = Some(Content::Data(Bytes::new()));
    }
}
