//! The first request of a task, on a textual screen, and images of screens.

use image::{Rgba, RgbaImage};
use motorium_imaging::codec;
use motorium_proto::domain::decision::RemainingLimits;
use motorium_proto::domain::desktop::Platform;
use motorium_proto::domain::frame::Image;
use motorium_proto::domain::session::TaskContext;
use motorium_proto::service::{ImageFormat, PlanRequest};

use motorium_phrasebook::screens::{DescribedScreen, screen};

/// The first request of a task, without an image.
pub(crate) fn request(goal: &str, seen: &str) -> PlanRequest {
    let DescribedScreen { frame, scene } = screen(seen);
    PlanRequest {
        goal: goal.to_owned(),
        instructions: String::new(),
        frame,
        image: None,
        scene,
        history: Vec::new(),
        user_messages: Vec::new(),
        remaining: RemainingLimits::default(),
        functions: Vec::new(),
        conversation: Default::default(),
        conversation_backend: String::new(),
        backends: Vec::new(),
        platform: Platform::Linux,
        language: None,
        notices: Vec::new(),
        applications: Vec::new(),
        current_url: None,
        context: TaskContext::default(),
        written_by_model: false,
        person_texts: Vec::new(),
    }
}

/// A screen of one colour, which its red value identifies.
pub(crate) fn solid_screenshot(red: u8) -> Image {
    let pixels = RgbaImage::from_pixel(1000, 800, Rgba([red, 100, 200, 255]));
    codec::encode(&pixels, ImageFormat::Png).unwrap()
}
