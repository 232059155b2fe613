//! The result of one check of `motorium doctor`.

/// The result of one check.
pub(super) enum Diagnosis {
    Ok(String),
    /// A feature works less well or not at all, but is not always needed.
    Degraded {
        what: String,
        remedy: String,
    },
    Missing {
        what: String,
        remedy: String,
    },
}

impl Diagnosis {
    pub(super) fn is_degraded(&self) -> bool {
        matches!(self, Diagnosis::Degraded { .. })
    }

    /// Formats the result with its remedy.
    pub(super) fn line(&self) -> String {
        match self {
            Diagnosis::Ok(what) => format!("  ok       {what}"),
            Diagnosis::Degraded { what, remedy } => {
                format!("  warning  {what}\n             {remedy}")
            }
            Diagnosis::Missing { what, remedy } => {
                format!("  missing  {what}\n             {remedy}")
            }
        }
    }
}
