//! Looking again only at what changed gives what looking anew would, on a real page.

use std::sync::Arc;

use motorium_perception::parse::Parser as _;
use motorium_perception::parse::detect::NoDetector;
use motorium_perception::parse::embedded::EmbeddedParser;
use tokio_util::sync::CancellationToken;

use crate::reading::reader;
use crate::session::{CHANGES, Session, agreement};

/// How many changes are made unless `MOTORIUM_SESSION_STEPS` says otherwise; after each, the same picture is parsed in
/// both ways.
const STEPS: usize = 27;

/// Whoever looks for text sees the whole picture, so that a word far away from a change may be joined with its
/// neighbour on one picture and stand alone on the next. What both see is therefore compared by signs and by places,
/// and a few of either may differ.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "a long run is made for its figures")]
async fn a_session_is_seen_as_if_each_picture_were_the_first() {
    let session = Session::start().await;
    let never = CancellationToken::new();
    let parser = |reader| EmbeddedParser::new(Arc::new(NoDetector), reader);
    let remembering = parser(reader());
    // Lines are remembered here too, to save time; where text stands is looked for anew on each picture.
    let forgetful = reader();
    let steps = std::env::var("MOTORIUM_SESSION_STEPS").ok();
    let steps = steps.map_or(STEPS, |steps| steps.parse().expect("a number of steps"));
    let mut least = (1.0f64, 1.0f64);
    for step in 0..steps {
        let change = step % CHANGES.len();
        let pixels = session.change(change).await;
        let again = remembering.parse(&pixels, &never).unwrap();
        let anew = parser(forgetful.clone()).parse(&pixels, &never).unwrap();
        let agreement = agreement(&again.lines, &anew.lines);
        least = (least.0.min(agreement.signs), least.1.min(agreement.places));
        let what = CHANGES[change];
        assert!(agreement.signs > 0.98, "{step} {what}: {agreement:?}");
        assert!(agreement.places > 0.95, "{step} {what}: {agreement:?}");
        assert!(
            step == 0 || again.effort.looked_at < 0.7,
            "{step} {what}: {:?}",
            again.effort
        );
    }
    println!("{steps} changes; agreement of signs and places at least {least:?}");
}
