//! Incremental parsing gives the same result as a full parse, on a real page.

use std::sync::Arc;

use motorium_perception::parse::Parser as _;
use motorium_perception::parse::detect::NoDetector;
use motorium_perception::parse::embedded::EmbeddedParser;
use tokio_util::sync::CancellationToken;

use crate::session::{CHANGES, Session, agreement};
use crate::text_reading::reader;

/// Number of changes, unless `MOTORIUM_SESSION_STEPS` is set; after each one the same image is parsed both ways.
const STEPS: usize = 18;

/// Text detection sees the whole image, so a word far from a change may be joined with its neighbour on one image and
/// not on the next. Results are therefore compared by characters and by covered area, with a small tolerance.
#[tokio::test]
#[expect(clippy::print_stdout, reason = "a long run prints its measurements")]
async fn incremental_parsing_matches_parsing_from_scratch() {
    let session = Session::start().await;
    let never = CancellationToken::new();
    let parser = |reader| EmbeddedParser::new(Arc::new(NoDetector), reader);
    let remembering = parser(reader());
    // Lines are cached here too, to save time; text detection is repeated on each image.
    let forgetful = reader();
    let steps = std::env::var("MOTORIUM_SESSION_STEPS").ok();
    let steps = steps.map_or(STEPS, |steps| steps.parse().expect("a number of steps"));
    let mut min_agreement = (1.0f64, 1.0f64);
    for step in 0..steps {
        let change = step % CHANGES.len();
        let pixels = session.change(change).await;
        let again = remembering.parse(&pixels, &never).unwrap();
        let anew = parser(forgetful.clone()).parse(&pixels, &never).unwrap();
        let agreement = agreement(&again.lines, &anew.lines);
        min_agreement = (
            min_agreement.0.min(agreement.signs),
            min_agreement.1.min(agreement.places),
        );
        let what = CHANGES[change];
        assert!(agreement.signs > 0.98, "{step} {what}: {agreement:?}");
        assert!(agreement.places > 0.95, "{step} {what}: {agreement:?}");
        assert!(
            step == 0 || again.effort.scanned_fraction < 0.7,
            "{step} {what}: {:?}",
            again.effort
        );
    }
    println!("{steps} changes; minimum agreement of characters and areas {min_agreement:?}");
}
