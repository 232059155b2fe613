//! Conversion of frames, displays and images.
//!
//! It does not decode the pixels of an image.

use super::{into_messages, optional, require, sha256, time, try_from_messages, wire_time};
use crate::domain::frame::{Cursor, Display, Frame, Image, ImageContent, Monitor, Window};
use crate::domain::id::{DisplayId, FrameId};
use crate::error::FieldError;
use crate::v1::common as wire;

impl TryFrom<wire::Image> for Image {
    type Error = FieldError;

    fn try_from(image: wire::Image) -> Result<Self, FieldError> {
        use wire::image::Content;

        let content = match image.content {
            Some(Content::Data(data)) => ImageContent::Bytes(data),
            Some(Content::BlobUri(uri)) => ImageContent::BlobUri(uri),
            None => return Err(FieldError::missing("content")),
        };
        let sha256 = sha256("sha256", &image.sha256)?;
        Ok(Image {
            content,
            media_type: image.media_type,
            width: image.width,
            height: image.height,
            sha256,
        })
    }
}

impl From<Image> for wire::Image {
    fn from(image: Image) -> Self {
        use wire::image::Content;

        let content = match image.content {
            ImageContent::Bytes(data) => Content::Data(data),
            ImageContent::BlobUri(uri) => Content::BlobUri(uri),
        };
        Self {
            content: Some(content),
            media_type: image.media_type,
            width: image.width,
            height: image.height,
            sha256: image.sha256.to_vec().into(),
        }
    }
}

conversions! {
    wire::Monitor => Monitor {
        name: same,
        bounds: required,
        primary: same,
    }

    wire::Display => Display {
        id: id(DisplayId),
        size: required,
        logical_size: required,
        scale: same,
        monitors: repeated,
    }

    wire::Cursor => Cursor {
        position: required,
        drawn: same,
    }
}

impl TryFrom<wire::Window> for Window {
    type Error = FieldError;

    fn try_from(window: wire::Window) -> Result<Self, FieldError> {
        Ok(Self {
            id: window.id,
            title: window.title,
            application: window.application,
            // Windows of other machines and of some toolkits announce no process.
            process: (window.process_id != 0).then_some(window.process_id),
            bounds: require("bounds", window.bounds)?,
            active: window.active,
            minimised: window.minimised,
            modal: window.modal,
        })
    }
}

impl From<Window> for wire::Window {
    fn from(window: Window) -> Self {
        Self {
            id: window.id,
            title: window.title,
            application: window.application,
            process_id: window.process.unwrap_or_default(),
            bounds: Some(window.bounds.into()),
            active: window.active,
            minimised: window.minimised,
            modal: window.modal,
        }
    }
}

impl TryFrom<wire::Frame> for Frame {
    type Error = FieldError;

    fn try_from(frame: wire::Frame) -> Result<Self, FieldError> {
        Ok(Self {
            id: FrameId::new(frame.id),
            display: DisplayId::new(frame.display),
            origin: optional("origin", frame.origin)?.unwrap_or_default(),
            size: require("size", frame.size)?,
            scale: frame.scale,
            captured_at: time("capture_time", frame.capture_time)?,
            cursor: optional("cursor", frame.cursor)?,
            monitors: try_from_messages("monitors", frame.monitors)?,
            windows: try_from_messages("windows", frame.windows)?,
        })
    }
}

impl From<Frame> for wire::Frame {
    fn from(frame: Frame) -> Self {
        Self {
            id: frame.id.as_str().to_owned(),
            display: frame.display.as_str().to_owned(),
            size: Some(frame.size.into()),
            scale: frame.scale,
            capture_time: Some(wire_time(frame.captured_at)),
            cursor: frame.cursor.map(Into::into),
            monitors: into_messages(frame.monitors),
            windows: into_messages(frame.windows),
            origin: Some(frame.origin.into()),
        }
    }
}
