//! The three services with recorded or replayed exchanges, expanded from their definitions.
//!
//! Streams, lease renewals and methods that the run loop never calls are passed through and not recorded. Of a file, only
//! the header is recorded: its content is an attachment or an artifact of the task.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use motorium_proto::error::FieldError;
use motorium_proto::service::definition::*;
use motorium_proto::service::{Chunked, Part, Result};
use motorium_proto::{executor_service, perception_service, planner_service};

use super::RecordingMode;
use crate::ports::Ports;

pub const OBSERVE: &str = "/motorium.perception.v1.PerceptionService/Observe";

/// Wraps services so that their exchanges are recorded or replayed.
pub fn recording_ports(ports: Ports, mode: &RecordingMode) -> Ports {
    let over = Arc::new(RecordingPorts {
        ports,
        mode: mode.clone(),
    });
    Ports {
        perception: over.clone(),
        planner: over.clone(),
        executor: over,
    }
}

struct RecordingPorts {
    ports: Ports,
    mode: RecordingMode,
}

impl RecordingPorts {
    /// Adds the content of a file in a replay, if the export has it.
    fn with_content(&self, file: DownloadedFile) -> DownloadedFile {
        match &self.mode {
            RecordingMode::Replaying(playback) => DownloadedFile {
                content: playback.content(&file.info.sha256).unwrap_or_default(),
                ..file
            },
            RecordingMode::Off | RecordingMode::Recording(_) => file,
        }
    }
}

/// Expands to the recording port of a service.
macro_rules! recording_port {
    (
        $(#[$about:meta])*
        service $Service:ident in $module:ident {
            proto $proto:literal;
            transport $transport:tt;
            $(
                $(#[$doc:meta])*
                $kind:ident $recorded:ident fn $method:ident($($arg:ident: $Request:ty)?) -> $Response:ty
                    = rpc $rpc:ident($In:ident) returns $Out:ident $(as $Stream:ident)?;
            )+
        }
    ) => {
        #[async_trait]
        impl $Service for RecordingPorts {
            $(
                async fn $method(&self $(, $arg: $Request)?) -> Result<$Response> {
                    let inner = &self.ports.$module;
                    exchange!(
                        $kind $recorded self, inner.$method($($arg)?) -> $Response,
                        concat!("/", $proto, "/", stringify!($rpc)),
                        motorium_proto::v1::$module::$In => motorium_proto::v1::$module::$Out
                    )
                }
            )+
        }
    };
}

/// Calls a method, and records the exchange if it belongs to the recording.
macro_rules! exchange {
    (
        $kind:ident unrecorded $self:ident, $inner:ident.$method:ident($($arg:ident)?) -> $Response:ty,
        $path:expr, $In:ty => $Out:ty
    ) => {
        $inner.$method($($arg)?).await
    };
    (
        unary recorded $self:ident, $inner:ident.$method:ident() -> $Response:ty,
        $path:expr, $In:ty => $Out:ty
    ) => {{
        let request = <$In>::default();
        exchange!(@record $self, $path, request, $inner.$method(), $Out)
    }};
    (
        unary recorded $self:ident, $inner:ident.$method:ident($arg:ident) -> $Response:ty,
        $path:expr, $In:ty => $Out:ty
    ) => {{
        let request = <$In>::from($arg.clone());
        exchange!(@record $self, $path, request, $inner.$method($arg), $Out)
    }};
    (
        upload recorded $self:ident, $inner:ident.$method:ident($arg:ident) -> $Response:ty,
        $path:expr, $In:ty => $Out:ty
    ) => {{
        let request = header_message(&$arg);
        exchange!(@record $self, $path, request, $inner.$method($arg), $Out)
    }};
    (
        download recorded $self:ident, $inner:ident.$method:ident($arg:ident) -> $Response:ty,
        $path:expr, $In:ty => $Out:ty
    ) => {{
        let request = <$In>::from($arg.clone());
        let work = $inner.$method($arg);
        let (header, read) = (|file: $Response| file.split().0, header_only::<$Response>);
        let file = $self.mode.exchange($path, request, work, header, read).await?;
        Ok($self.with_content(file))
    }};
    (@record $self:ident, $path:expr, $request:ident, $work:expr, $Out:ty) => {
        $self
            .mode
            .exchange($path, $request, $work, <$Out>::from, |response: $Out| response.try_into())
            .await
    };
}

/// Returns the first message of a value in several messages.
fn header_message<T: Chunked + Clone>(value: &T) -> T::Message {
    T::message(Part::Header(value.clone().split().0))
}

/// Returns a value without its content.
fn header_only<T: Chunked>(header: T::Header) -> std::result::Result<T, FieldError> {
    T::join(header, Bytes::new())
}

perception_service!(recording_port);
planner_service!(recording_port);
executor_service!(recording_port);
