//! End-to-end tests of the whole product, as users and operators run it.

mod act;
mod bad_input;
mod callers;
mod canaries;
mod cancellation;
mod chaos;
mod claiming_model;
mod command_line;
mod crashes;
mod deploy_files;
mod deployments;
mod dialogs;
mod disk;
mod gateway;
mod isolation;
mod misleading;
mod model_provider;
mod models;
mod requests;
mod scripted;
mod typed_addresses;
