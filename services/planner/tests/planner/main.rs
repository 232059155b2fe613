//! Tests of the Planner.

mod background;
mod chat;
mod chat_servers;
mod conversation_restart;
mod coordinates;
mod failures;
mod fake_provider;
mod fallback;
mod fixtures;
mod fuzz;
mod images;
mod injection;
mod misconfigured;
mod native;
mod phrasebook_dialogue;
mod phrasebook_docs;
mod planner_service_backend;
mod provider_connection;
mod questions;
mod request;
mod request_budget;
mod request_dump;
mod responses;
mod service;
mod som;
mod task;
