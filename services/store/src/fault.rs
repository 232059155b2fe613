//! Why a statement was not carried out, before the database's part of it is understood.

use crate::Error;

/// A refusal of ours, or an error of the database's.
#[derive(Debug)]
pub(crate) enum Fault {
    Refused(Error),
    Database(sqlx::Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}
