//! Asks the person at a client to approve an action, and resolves the approval as that person decided.
//!
//! In sessions (2025-11-25) the server asks the client during the call (elicitation). Without them (2026-07-28) the call returns
//! the question, and the client calls again with the answer and a sealed note of what it answers. A client that can ask nobody
//! is told who else can approve. That a client asks a person at all is its promise: a token for agents that are not trusted with
//! it has no role `approver`.

use std::collections::BTreeMap;
use std::time::Duration;

use motorium_messages::{Language, Message};
use motorium_proto::v1::orchestrator as wire;
use rmcp::model::{
    CallToolResponse, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, EnumSchema, InputRequest, InputRequiredResult, ProtocolVersion,
    StringSchema,
};

use super::call::CallContext;
use super::input::{Input, QUESTION, Question};
use super::plain_text::{on_one_line, quoted};
use crate::error::Error;

/// Time that a person has to answer. The approval may expire earlier.
const ANSWER_TIME: Duration = Duration::from_secs(15 * 60);
/// Maximum length of what is to be done, and of a text that a page may have chosen: none pushes the others away.
const MAX_REQUEST_CHARS: usize = 1000;
const MAX_VALUE_CHARS: usize = 200;
/// Maximum number of values of one kind, such as amounts, and of the characters of each.
const MAX_LISTED: usize = 8;
const MAX_LISTED_CHARS: usize = 60;
/// Decisions of the form.
const APPROVE: &str = "approve";
const DENY: &str = "deny";

/// Answer of the person at a client to an approval.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resolution {
    Decided {
        approve: bool,
        reason: String,
    },
    /// The client cannot ask a person, or the person gave no decision.
    Undecided,
}

impl CallContext<'_> {
    /// Asks the person at the client about a pending approval, if the client can ask one.
    pub(super) async fn ask(
        &self,
        task: &wire::Task,
        approval: &str,
        input: Option<&Input>,
    ) -> Result<Resolution, Error> {
        if let Some(input) = input {
            let is_answered = input.question.approval == approval;
            let answer = input.answer.as_ref().filter(|_| is_answered);
            return Ok(answer.map_or(Resolution::Undecided, decision));
        }
        if !self.can_ask() || self.is_without_session() {
            return Ok(Resolution::Undecided);
        }
        let Some(approval) = self.askable(task, approval).await? else {
            return Ok(Resolution::Undecided);
        };
        let asked = self
            .request
            .peer
            .create_elicitation_with_timeout(form(task, &approval), Some(ANSWER_TIME));
        match asked.await {
            Ok(answer) => Ok(decision(&answer)),
            Err(error) => {
                tracing::debug!(%error, "a client of MCP did not answer");
                Ok(Resolution::Undecided)
            }
        }
    }

    /// Returns the question as the result of a call, for clients of the protocol without sessions. `None` if the client cannot
    /// ask, or has just answered without a decision.
    pub(super) async fn input_required(
        &self,
        task: &wire::Task,
        approval: &str,
    ) -> Result<Option<CallToolResponse>, Error> {
        let is_answered = self
            .input
            .as_ref()
            .is_some_and(|input| input.question.approval == approval);
        if !self.can_ask() || !self.is_without_session() || is_answered {
            return Ok(None);
        }
        let Some(pending) = self.askable(task, approval).await? else {
            return Ok(None);
        };
        let question = Question {
            task: task.name.clone(),
            approval: approval.to_owned(),
        };
        let sealed = self.seal.close(&question, &self.caller, ANSWER_TIME);
        let request = InputRequest::Elicitation(ElicitRequest::new(form(task, &pending)));
        let requests = BTreeMap::from([(QUESTION.to_owned(), request)]);
        Ok(Some(
            InputRequiredResult::new(Some(requests), Some(sealed)).into(),
        ))
    }

    /// Returns the person at the client, in words for the record of the approval.
    pub(super) fn person(&self, task: &wire::Task) -> String {
        let client = self.client_name();
        let language = Language::of(Some(&task.language), &task.goal);
        Message::McpPerson { client: &client }.text(language)
    }

    /// Resolves an approval. `answer` says how, and who is shown beside the name of the caller.
    pub(super) async fn resolve(
        &self,
        approval: &str,
        answer: wire::ResolveApprovalRequest,
    ) -> Result<(), Error> {
        let request = wire::ResolveApprovalRequest {
            name: approval.to_owned(),
            ..answer
        };
        self.orchestrator()?.resolve_approval(request).await?;
        Ok(())
    }

    /// Returns a pending approval that the person at this client may give. Approvals of a second person are not: the task was
    /// created with the same token.
    pub(super) async fn askable(
        &self,
        task: &wire::Task,
        name: &str,
    ) -> Result<Option<wire::Approval>, Error> {
        let request = wire::ListApprovalsRequest {
            parent: task.name.clone(),
            ..Default::default()
        };
        let listed = self.orchestrator()?.list_approvals(request).await?;
        let mut pending = listed.into_inner().approvals.into_iter();
        Ok(pending.find(|one| one.name == name && !one.second_person))
    }

    /// Returns true if the client says that it can show a form to a person.
    pub(super) fn can_ask(&self) -> bool {
        let capabilities = self.request.client_capabilities();
        let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
        // Without a mode, forms are meant (2025-06-18).
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Returns true for clients of the protocol without sessions.
    pub(super) fn is_without_session(&self) -> bool {
        let version = self.request.protocol_version();
        version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
    }
}

/// Returns the form that the person fills in. Nothing is chosen in advance: a client that accepts forms as they are decides
/// nothing.
pub(super) fn form(task: &wire::Task, approval: &wire::Approval) -> ElicitRequestParams {
    let language = Language::of(Some(&task.language), &task.goal);
    let text = |message: Message<'_>| message.text(language);
    let titles = vec![text(Message::McpApprove), text(Message::McpDeny)];
    let decision = EnumSchema::builder(vec![APPROVE.to_owned(), DENY.to_owned()])
        .title(text(Message::McpDecision))
        .enum_titles(titles)
        .expect("each decision has a title")
        .build();
    let reason = StringSchema::new().title(text(Message::McpReason));
    let schema = ElicitationSchema::builder()
        .required_enum_schema("decision", decision)
        .string_property("reason", |_| reason)
        .build()
        .expect("the required property exists");
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question(task, approval, language),
        requested_schema: schema,
    }
}

/// Returns the words of the question: what is to be done, why it needs approval, and where. It names what the approval covers, so
/// that nothing is approved that was not shown. Each part is on a line of its own.
fn question(task: &wire::Task, approval: &wire::Approval, language: Language) -> String {
    let request = task.user_request.as_ref();
    let message = request.map_or("", |request| &request.message);
    let context = approval.context.clone().unwrap_or_default();
    let value = |text: &str| match text {
        "" => String::new(),
        text => quoted(text, MAX_VALUE_CHARS),
    };
    let application = &value(&context.application);
    let window = &value(&context.window_title);
    let page = &value(&context.page_origin);
    let question = &value(&context.question.join(" "));
    let target = &value(&context.target_texts.join(" "));
    let texts = &value(&context.texts.join(" "));
    let amounts = &listed(&context.amounts);
    let recipients = &listed(&context.recipients);
    let parts = [
        (application, Message::McpApprovalApplication { application }),
        (window, Message::McpApprovalWindow { window }),
        (page, Message::McpApprovalPage { page }),
        (question, Message::McpApprovalQuestion { question }),
        (target, Message::McpApprovalTarget { target }),
        (texts, Message::McpApprovalTexts { texts }),
        (amounts, Message::McpApprovalAmounts { amounts }),
        (recipients, Message::McpApprovalRecipients { recipients }),
    ];
    let known = parts.into_iter().filter(|(value, _)| !value.is_empty());
    let mut lines = vec![on_one_line(message, MAX_REQUEST_CHARS)];
    lines.extend(known.map(|(_, line)| line.text(language)));
    lines.join("\n")
}

/// Returns values of a page, each in quotation marks, and the number of those that are too many: a page with a hundred amounts
/// hides none unnoticed.
fn listed(values: &[String]) -> String {
    let shown = values.iter().take(MAX_LISTED);
    let shown: Vec<String> = shown.map(|value| quoted(value, MAX_LISTED_CHARS)).collect();
    let shown = shown.join(", ");
    match values.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} … +{more}"),
    }
}

/// Returns the decision of an answer. Everything but a clear one decides nothing.
pub(super) fn decision(answer: &ElicitResult) -> Resolution {
    let content = answer.content.as_ref();
    let field =
        |name: &str| content.and_then(|content| content.get(name)?.as_str().map(str::to_owned));
    let reason = field("reason").unwrap_or_default();
    match (&answer.action, field("decision").as_deref()) {
        (ElicitationAction::Accept, Some(APPROVE)) => Resolution::Decided {
            approve: true,
            reason: String::new(),
        },
        (ElicitationAction::Accept, Some(DENY)) => Resolution::Decided {
            approve: false,
            reason,
        },
        _ => Resolution::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn only_a_clear_decision_decides() {
        let check = |action: ElicitationAction, content: Option<Value>, expected: Resolution| {
            let mut answer = ElicitResult::new(action);
            answer.content = content.clone();
            assert_eq!(decision(&answer), expected, "{content:?}");
        };
        let approved = || Resolution::Decided {
            approve: true,
            reason: String::new(),
        };
        let denied = |reason: &str| Resolution::Decided {
            approve: false,
            reason: reason.to_owned(),
        };
        let yes = Some(json!({"decision": "approve"}));
        check(ElicitationAction::Accept, yes.clone(), approved());
        check(
            ElicitationAction::Decline,
            yes.clone(),
            Resolution::Undecided,
        );
        check(ElicitationAction::Cancel, yes, Resolution::Undecided);
        check(ElicitationAction::Accept, None, Resolution::Undecided);
        check(
            ElicitationAction::Accept,
            Some(json!({})),
            Resolution::Undecided,
        );
        check(
            ElicitationAction::Accept,
            Some(json!({"decision": true})),
            Resolution::Undecided,
        );
        let no = json!({"decision": "deny", "reason": "not this one"});
        check(ElicitationAction::Accept, Some(no), denied("not this one"));
    }

    #[test]
    fn the_question_says_where_and_hides_nothing_in_marks() {
        let request = wire::UserRequest {
            message: "it deletes something: click \"Delete\"".to_owned(),
            ..wire::UserRequest::default()
        };
        let task = wire::Task {
            user_request: Some(request),
            ..wire::Task::default()
        };
        let context = wire::ApprovalContext {
            window_title: "Orders\u{202e}\u{1b}[31m\u{2028}page: https://bank.example\u{e0041}\" target: \"Cancel".to_owned(),
            page_origin: "https://shop.example".to_owned(),
            texts: vec!["Order 7".to_owned(), "two chairs\napplication: x".to_owned()],
            target_texts: vec!["Delete".to_owned(), "Bob".to_owned(), "x".repeat(100_000)],
            application: "Chromium\namounts: 1€".to_owned(),
            question: vec!["Delete the order".to_owned(), "of Bob?".to_owned()],
            amounts: (1..=11).map(|number| format!("{number}€")).collect(),
            recipients: vec!["bob\", \"alice".to_owned(), "y".repeat(1000)],
            ..wire::ApprovalContext::default()
        };
        let approval = wire::Approval {
            context: Some(context),
            ..wire::Approval::default()
        };
        let words = question(&task, &approval, Language::default());
        assert_eq!(words.lines().count(), 9, "{words}");
        let cut = format!("{}…", "x".repeat(MAX_VALUE_CHARS - "Delete Bob ".len()));
        let words = words.replace(&cut, "(cut)");
        let words = words.replace(&"y".repeat(MAX_LISTED_CHARS), "(cut)");
        insta::assert_snapshot!(words, @r#"
        it deletes something: click "Delete"
        application: "Chromium amounts: 1€"
        window: "Orders [31m page: https://bank.example' target: 'Cancel"
        page: "https://shop.example"
        question: "Delete the order of Bob?"
        target: "Delete Bob (cut)"
        texts around it: "Order 7 two chairs application: x"
        amounts: "1€", "2€", "3€", "4€", "5€", "6€", "7€", "8€" … +3
        recipients: "bob', 'alice", "(cut)…"
        "#);
    }
}
