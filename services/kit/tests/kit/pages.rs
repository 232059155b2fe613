//! Each reason that the kit returns has a documentation page.

use std::path::Path;

use motorium_proto::error::reason;

#[test]
fn each_reason_has_a_page() {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
    for reason in [
        reason::TRANSPORT,
        reason::DEADLINE_EXCEEDED,
        reason::MESSAGE_TOO_LARGE,
        reason::SHUTTING_DOWN,
        reason::UNAUTHENTICATED,
        reason::ROLE_MISSING,
        reason::NOT_SERVED,
        reason::INTERNAL,
    ] {
        let page = pages.join(format!("{reason}.md"));
        let text = std::fs::read_to_string(&page)
            .unwrap_or_else(|error| panic!("{}: {error}", page.display()));
        assert!(
            text.starts_with(&format!("# {reason}\n")),
            "{}",
            page.display()
        );
    }
}
