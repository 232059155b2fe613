//! `motorium policy`: prints the policy that is active at the Orchestrator, or its judgement of described steps.
//!
//! It does not read the configuration of this machine: a file that was changed may not be active, and a server may have another.

use std::process::ExitCode;

use motorium_kit::config::LayeredConfig;
use motorium_messages::{Message, choice_key};
use motorium_proto::v1::orchestrator as wire;

use super::connection::Connection;
use crate::cli::Policy;
use crate::error::Error;
use crate::output;
use crate::show::{table, terminal_language, text};

/// Number of digits of a version that are printed: enough to tell two versions apart.
const VERSION_DIGITS: usize = 12;

/// Prints the active policy.
pub(crate) async fn policy(loaded: &LayeredConfig, args: &Policy) -> Result<ExitCode, Error> {
    let connection = Connection::open(loaded, &args.server)?;
    let mut client = connection.client.raw();
    if let Some(sentence) = &args.trial {
        let request = wire::TestPolicyRequest {
            sentence: sentence.clone(),
            application: args.application.clone().unwrap_or_default(),
            window_title: String::new(),
            url: args.url.clone().unwrap_or_default(),
            surrounding_texts: args.near.clone(),
        };
        let response = client.test_policy(request).await;
        let response = response.map_err(|status| connection.status(&status))?;
        for trial in response.into_inner().trials {
            print_trial(&trial);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let response = client.get_policy(wire::GetPolicyRequest {}).await;
    let response = response.map_err(|status| connection.status(&status))?;
    let policy = response.into_inner().policy.unwrap_or_default();
    if args.text {
        let texts = policy.rules.iter().map(|rule| rule.text.as_str());
        output::line(&texts.collect::<Vec<_>>().join("\n\n"));
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&heading(&policy));
    if policy.second_person {
        output::line(&text(Message::PolicyNeedsSecondPerson));
    }
    if policy.own_lexicon {
        output::line(&text(Message::PolicyOwnLexicon));
    }
    output::line(&table::rules(&policy.rules, terminal_language()));
    Ok(ExitCode::SUCCESS)
}

/// Prints a step with its judgement, and the rules that led to it.
fn print_trial(trial: &wire::PolicyTrial) {
    let decision = match trial.second_person {
        true => "SECOND_PERSON",
        false => trial.decision().as_str_name(),
    };
    let decision = &choice_key(decision.trim_start_matches("DECISION_"));
    let judged = text(Message::TrialDecision { decision });
    output::line(&format!("{}: {judged}", trial.step));
    if !trial.rules.is_empty() {
        output::line(&table::rules(&trial.rules, terminal_language()));
    }
}

fn heading(policy: &wire::Policy) -> String {
    let version: String = policy.version.chars().take(VERSION_DIGITS).collect();
    let timeout = policy.approval_timeout.unwrap_or_default();
    let (name, version) = (policy.name.as_str(), version.as_str());
    let seconds = timeout.seconds.unsigned_abs();
    text(match policy.built_in {
        true => Message::PolicyActive {
            name,
            version,
            seconds,
        },
        false => Message::PolicyFileActive {
            name,
            version,
            seconds,
        },
    })
}
