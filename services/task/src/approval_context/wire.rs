//! Conversion of an approval's context to its API message and back.

use motorium_proto::convert;
use motorium_proto::error::FieldError;
use motorium_proto::v1::orchestrator as wire;

use super::ApprovalContext;

impl From<ApprovalContext> for wire::ApprovalContext {
    fn from(context: ApprovalContext) -> Self {
        Self {
            application: context.application,
            window_title: context.window_title,
            page_origin: context.page_origin,
            target: context.target.map(Into::into),
            target_texts: context.target_texts,
            texts: context.texts,
            question: context.question,
            amounts: context.amounts,
            recipients: context.recipients,
            moving: convert::into_messages(context.moving),
            pointer_on_target: context.pointer_on_target,
        }
    }
}

impl TryFrom<wire::ApprovalContext> for ApprovalContext {
    type Error = FieldError;

    fn try_from(context: wire::ApprovalContext) -> Result<Self, FieldError> {
        Ok(Self {
            application: context.application,
            window_title: context.window_title,
            page_origin: context.page_origin,
            target: convert::optional("target", context.target)?,
            target_texts: context.target_texts,
            texts: context.texts,
            question: context.question,
            amounts: context.amounts,
            recipients: context.recipients,
            moving: convert::try_from_messages("moving", context.moving)?,
            pointer_on_target: context.pointer_on_target,
        })
    }
}
