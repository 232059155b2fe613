//! Chooses the variant of a model.
//!
//! Set-up keeps the published models and creates faster variants if possible. A missing original is reported under its
//! own name, so that the error says what to fetch.

use std::path::{Path, PathBuf};

/// Returns the path of the text detection model.
pub(super) fn locator(models: &Path) -> PathBuf {
    first_existing(models, &["detect.fast.onnx"], "detect.onnx")
}

/// Returns the path of the text recognition model. The int8 variant takes three quarters of the time at the same
/// accuracy (reports/comparisons.md), but only on CPUs that accumulate byte products without saturation.
pub(super) fn recogniser(models: &Path, multiplies_bytes: bool) -> PathBuf {
    let prepared: &[&str] = if multiplies_bytes {
        &["recognise.int8.onnx", "recognise.fast.onnx"]
    } else {
        &["recognise.fast.onnx"]
    };
    first_existing(models, prepared, "recognise.onnx")
}

fn first_existing(models: &Path, prepared: &[&str], original: &str) -> PathBuf {
    prepared
        .iter()
        .map(|name| models.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| models.join(original))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCATORS: [&str; 2] = ["detect.onnx", "detect.fast.onnx"];
    const RECOGNISERS: [&str; 3] = [
        "recognise.onnx",
        "recognise.fast.onnx",
        "recognise.int8.onnx",
    ];

    #[test]
    fn the_fastest_variant_that_suits_is_chosen() {
        let check = |there: &[&str], bytes: bool, expected: [&str; 2]| {
            let folder = tempfile::tempdir().unwrap();
            for name in there {
                std::fs::write(folder.path().join(name), "").unwrap();
            }
            let chosen = [locator(folder.path()), recogniser(folder.path(), bytes)];
            assert_eq!(
                chosen,
                expected.map(|name| folder.path().join(name)),
                "{there:?}, {bytes}"
            );
        };
        let all = [LOCATORS.as_slice(), RECOGNISERS.as_slice()].concat();
        check(&all, true, ["detect.fast.onnx", "recognise.int8.onnx"]);
        check(&all, false, ["detect.fast.onnx", "recognise.fast.onnx"]);
        check(
            &["recognise.fast.onnx"],
            true,
            ["detect.onnx", "recognise.fast.onnx"],
        );
        check(
            &["recognise.onnx", "recognise.int8.onnx"],
            false,
            ["detect.onnx", "recognise.onnx"],
        );
        check(&[], true, ["detect.onnx", "recognise.onnx"]);
    }
}
