//! Sessions: conversations of tasks. A session is only a name that outlives its tasks; its transcript comes from their logs.

use std::time::SystemTime;

use futures::StreamExt as _;
use motorium_kit::principal::{LOCAL, Principal};
use motorium_proto::convert::wire_time;
use motorium_proto::domain::id::SessionName;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;
use motorium_recording::transcript::{TranscriptFormat, transcript};
use motorium_store::{Collection, ListResources, PutResource, ResourceRow};
use prost::Message as _;
use tonic::Status;
use uuid::Uuid;

use super::commands::request_id;
use super::exports::deliver;
use super::{Edge, ResponseStream, ownership, page_size, resource_id};
use crate::error::Error;

impl Edge {
    pub(super) async fn begin_session(
        &self,
        request: wire::CreateSessionRequest,
    ) -> Result<wire::Session, Error> {
        let id = request_id("CreateSession", &request.request_id, &request)?;
        let given = request.session.unwrap_or_default();
        let name = resource_id("session_id", &request.session_id, Uuid::now_v7())?;
        let name = SessionName::from_segment(&name)?;
        let owner = ownership::owner(&ownership::caller()?);
        let session = wire::Session {
            name: name.to_string(),
            display_name: given.display_name,
            creator: owner.creator,
            ..wire::Session::default()
        };
        let put = PutResource {
            collection: Collection::Sessions,
            name: session.name.clone(),
            tenant: owner.tenant,
            body: session.encode_to_vec().into(),
            labels: Default::default(),
            replace: false,
            request: id,
            now: SystemTime::now(),
        };
        message_of(self.store.put_resource(put).await?)
    }

    /// Returns a session that the caller may use.
    pub(super) async fn session(&self, name: &SessionName) -> Result<wire::Session, Error> {
        self.session_for(&ownership::caller()?, name).await
    }

    /// Returns a session that a principal may use. For streams, which go on after the call that opened them.
    pub(super) async fn session_for(
        &self,
        principal: &Principal,
        name: &SessionName,
    ) -> Result<wire::Session, Error> {
        match self.store.get_resource(&name.to_string()).await {
            Ok(row) if ownership::sees(principal, &row.tenant) => message_of(row),
            Ok(row) => Err(Error::SessionNotFound { name: row.name }),
            Err(motorium_store::Error::ResourceNotFound { name }) => {
                Err(Error::SessionNotFound { name })
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn listed_sessions(
        &self,
        request: wire::ListSessionsRequest,
    ) -> Result<wire::ListSessionsResponse, Error> {
        let list = ListResources {
            collection: Collection::Sessions,
            tenant: ownership::listed_tenant(&ownership::caller()?),
            page_size: page_size(request.page_size)?,
            page_token: Some(request.page_token).filter(|token| !token.is_empty()),
            labels: Default::default(),
        };
        let page = self.store.list_resources(list).await?;
        Ok(wire::ListSessionsResponse {
            sessions: page
                .items
                .into_iter()
                .map(message_of)
                .collect::<Result<_, _>>()?,
            next_page_token: page.next.unwrap_or_default(),
        })
    }
}

impl Edge {
    /// Streams the transcript of a session.
    pub(super) async fn session_transcript(
        &self,
        request: wire::ExportSessionRequest,
    ) -> Result<ResponseStream<wire::ExportSessionResponse>, Error> {
        use wire::export_session_request::Format;

        let name = SessionName::parse("name", &request.name)?;
        self.session(&name).await?;
        let format = match Format::try_from(request.format) {
            Ok(Format::Unspecified | Format::Markdown) => TranscriptFormat::Markdown,
            Ok(Format::Json) => TranscriptFormat::Json,
            Err(_) => {
                let description = format!("has the unknown value {}", request.format);
                return Err(FieldError::new("format", description).into());
            }
        };
        let slot = self.export_slot().await?;
        let pieces = transcript(self.store.clone(), &name, format).await?;
        let pieces = pieces.map(|piece| match piece {
            Ok(chunk) => Ok(wire::ExportSessionResponse { chunk }),
            Err(error) => Err(Status::from(Error::from(error))),
        });
        Ok(deliver(pieces, slot))
    }
}

fn message_of(row: ResourceRow) -> Result<wire::Session, Error> {
    let session = wire::Session::decode(row.body).map_err(|error| Error::CorruptLog {
        detail: format!("{}: {error}", row.name),
    })?;
    let creator = match session.creator.as_str() {
        "" => LOCAL.to_owned(),
        name => name.to_owned(),
    };
    Ok(wire::Session {
        creator,
        tenant: row.tenant,
        create_time: Some(wire_time(row.create_time)),
        update_time: Some(wire_time(row.update_time)),
        ..session
    })
}
