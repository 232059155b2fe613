//! Tests of the Orchestrator as its users see it: over gRPC, with a real store and scripted services.
//!
//! One file per feature. `support` contains the cluster that all tests run on.

mod approval_context;
mod approvals;
mod audit;
mod bad_input;
mod cancel;
mod completion;
mod deletion;
mod desktops;
mod end_screen;
mod end_to_end;
mod extraction;
mod functions;
mod graceful_shutdown;
mod health;
mod hooks;
mod last_look;
mod late_delivery;
mod limits;
mod lists;
mod loop_detection;
mod messages;
mod pause;
mod phrasebook;
mod pointer;
mod progress;
mod provenance;
mod readback;
mod recovery;
mod registration;
mod replay;
mod request_ids;
mod restored;
mod retention;
mod retry;
mod second_person;
mod sessions;
mod several_orchestrators;
mod summaries;
mod support;
mod task_end;
mod tenants;
mod transient_failures;
mod watch;
mod watch_session;
