//! Keeps consecutive gestures of the pointer from being fused into a double click.
//!
//! Applications take two presses at one place for a double click if the second comes within an interval. So each press
//! is recorded, and the next gesture at that place begins only after the interval. The record is on the root window,
//! where every process that acts on this display finds it. Clicks inside one gesture (a wanted double click) are not
//! affected. Presses by users are not recorded.

use std::time::{Duration, UNIX_EPOCH};

use motorium_proto::domain::geometry::CapturePoint;
use motorium_x11::Connection;
use x11rb::protocol::xproto::{Atom, AtomEnum, ConnectionExt as _, PropMode};
use x11rb::wrapper::ConnectionExt as _;

use super::buttons::{button_number, numbered_button};
use super::connection::OrDisplayError as _;
use crate::drivers::Error;
use crate::drivers::gesture::{LastPress, MIN_DOUBLE_CLICK_INTERVAL};

/// Maximum double-click interval. Larger settings are taken for errors; the sliders of desktops end at about 1 s.
const MAX_DOUBLE_CLICK_INTERVAL: Duration = Duration::from_secs(2);
/// Maximum size of a settings property, in words of 4 bytes. Real ones have some kilobytes.
const MAX_SETTINGS_WORDS: u32 = 64 * 1024;
/// Setting of GTK, and of Qt beside it, in milliseconds (XSETTINGS registry).
const XSETTINGS_NAME: &[u8] = b"Net/DoubleClickTime";
/// Resource of Xt applications (terminals, old toolkits), in milliseconds.
const RESOURCE_NAME: &str = "multiClickTime";

/// Reads the last press on this display; `None` if there was none.
pub(super) fn read(link: &Connection, record: Atom) -> Result<Option<LastPress>, Error> {
    let property = link
        .x
        .get_property(false, link.root, record, AtomEnum::CARDINAL, 0, 5)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?;
    let words: Vec<u32> = property.value32().into_iter().flatten().collect();
    Ok(decode(&words))
}

/// Records a press. Sent with the next flush.
pub(super) fn write(link: &Connection, record: Atom, press: &LastPress) -> Result<(), Error> {
    link.x
        .change_property32(
            PropMode::REPLACE,
            link.root,
            record,
            AtomEnum::CARDINAL,
            &encode(press),
        )
        .or_display_error(link)?;
    Ok(())
}

fn encode(press: &LastPress) -> [u32; 5] {
    let time = press.time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    [
        button_number(press.button).into(),
        press.at.x.cast_unsigned(),
        press.at.y.cast_unsigned(),
        (milliseconds >> 32) as u32,
        (milliseconds & u64::from(u32::MAX)) as u32,
    ]
}

fn decode(words: &[u32]) -> Option<LastPress> {
    let &[button, x, y, high, low] = words else {
        return None;
    };
    let milliseconds = (u64::from(high) << 32) | u64::from(low);
    Some(LastPress {
        button: numbered_button(u8::try_from(button).ok()?)?,
        at: CapturePoint::new(x.cast_signed(), y.cast_signed()),
        time: UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds))?,
    })
}

/// Returns the double-click interval of this display: the longest that one of its settings or applications uses.
pub(super) fn double_click_interval(link: &Connection) -> Result<Duration, Error> {
    let settings = xsettings(link)?;
    let resources = property(link, link.root, AtomEnum::RESOURCE_MANAGER.into())?;
    let found = [
        of_xsettings(&settings),
        of_resources(&String::from_utf8_lossy(&resources)),
    ];
    let longest = found.into_iter().flatten().max().unwrap_or_default();
    Ok(longest.clamp(MIN_DOUBLE_CLICK_INTERVAL, MAX_DOUBLE_CLICK_INTERVAL))
}

/// Reads the settings of the desktop's settings daemon; empty if there is none.
fn xsettings(link: &Connection) -> Result<Vec<u8>, Error> {
    let selection = format!("_XSETTINGS_S{}", link.screen_number());
    let selection = atom(link, selection.as_bytes())?;
    let owner = link
        .x
        .get_selection_owner(selection)
        .or_display_error(link)?
        .reply()
        .or_display_error(link)?
        .owner;
    if owner == x11rb::NONE {
        return Ok(Vec::new());
    }
    property(link, owner, atom(link, b"_XSETTINGS_SETTINGS")?)
}

fn atom(link: &Connection, name: &[u8]) -> Result<Atom, Error> {
    let reply = link.x.intern_atom(false, name).or_display_error(link)?;
    Ok(reply.reply().or_display_error(link)?.atom)
}

/// Reads a property of bytes; empty if the window or the property is gone.
fn property(link: &Connection, window: u32, name: Atom) -> Result<Vec<u8>, Error> {
    let reply = link
        .x
        .get_property(false, window, name, AtomEnum::ANY, 0, MAX_SETTINGS_WORDS)
        .or_display_error(link)?
        .reply();
    let found = motorium_x11::ignore_gone(reply).or_display_error(link)?;
    Ok(found.map(|found| found.value).unwrap_or_default())
}

/// Finds the interval in a settings property (XSETTINGS 0.5, "Format of the _XSETTINGS_SETTINGS property").
fn of_xsettings(settings: &[u8]) -> Option<Duration> {
    let mut reader = SettingsReader::new(settings)?;
    for _ in 0..reader.count {
        let (name, value) = reader.next()?;
        if name == XSETTINGS_NAME {
            return Some(Duration::from_millis(value?.into()));
        }
    }
    None
}

/// Reads settings one after the other.
struct SettingsReader<'a> {
    rest: &'a [u8],
    big_endian: bool,
    count: u32,
}

impl<'a> SettingsReader<'a> {
    fn new(settings: &'a [u8]) -> Option<Self> {
        let mut reader = Self {
            rest: settings,
            big_endian: *settings.first()? != 0,
            count: 0,
        };
        // Byte order, padding, serial number.
        reader.take(8)?;
        reader.count = reader.number()?;
        Some(reader)
    }

    /// Returns the name of the next setting, and its value if it is a number.
    fn next(&mut self) -> Option<(&'a [u8], Option<u32>)> {
        /// Type of a setting with a number, as numbered by the XSETTINGS protocol.
        const INTEGER: u8 = 0;
        /// Type of a setting with a text.
        const STRING: u8 = 1;
        let kind = self.take(2)?[0];
        let length = self.short()?;
        let name = self.padded(length.into())?;
        self.take(4)?;
        let value = match kind {
            INTEGER => Some(self.number()?),
            STRING => {
                let length = self.number()?;
                self.padded(usize::try_from(length).ok()?)?;
                None
            }
            // A colour: four numbers of 16 bits.
            _ => {
                self.take(8)?;
                None
            }
        };
        Some((name, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Takes bytes that are padded to a multiple of four.
    fn padded(&mut self, length: usize) -> Option<&'a [u8]> {
        let padded = self.take(length.checked_next_multiple_of(4)?)?;
        padded.get(..length)
    }

    fn number(&mut self) -> Option<u32> {
        let bytes: [u8; 4] = self.take(4)?.try_into().ok()?;
        Some(match self.big_endian {
            true => u32::from_be_bytes(bytes),
            false => u32::from_le_bytes(bytes),
        })
    }

    fn short(&mut self) -> Option<u16> {
        let bytes: [u8; 2] = self.take(2)?.try_into().ok()?;
        Some(match self.big_endian {
            true => u16::from_be_bytes(bytes),
            false => u16::from_le_bytes(bytes),
        })
    }
}

/// Finds the longest interval among the X resources (`XTerm*multiClickTime: 400`).
fn of_resources(resources: &str) -> Option<Duration> {
    let interval = |line: &str| {
        let (name, value) = line.split_once(':')?;
        let is_it = name.trim().ends_with(RESOURCE_NAME);
        let milliseconds = value.trim().parse().ok().filter(|_| is_it)?;
        Some(Duration::from_millis(milliseconds))
    };
    resources.lines().filter_map(interval).max()
}

#[cfg(test)]
mod tests {
    use motorium_proto::domain::action::Button;

    use super::*;

    /// A settings property with a string, a colour and the interval.
    fn settings(big_endian: bool, interval: u32) -> Vec<u8> {
        let number = |value: u32| match big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        };
        let short = |value: u16| match big_endian {
            true => value.to_be_bytes(),
            false => value.to_le_bytes(),
        };
        let mut bytes = vec![u8::from(big_endian), 0, 0, 0];
        bytes.extend(number(7));
        bytes.extend(number(3));
        let mut setting = |kind: u8, name: &[u8], value: &[u8]| {
            bytes.extend([kind, 0]);
            bytes.extend(short(u16::try_from(name.len()).unwrap()));
            bytes.extend(name);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(number(1));
            bytes.extend(value);
        };
        let mut theme = number(5).to_vec();
        theme.extend(b"Plain\0\0\0");
        setting(1, b"Net/ThemeName", &theme);
        setting(2, b"Gtk/Colour", &[0; 8]);
        setting(0, XSETTINGS_NAME, &number(interval));
        bytes
    }

    #[test]
    fn double_click_interval_is_read_from_desktop_settings() {
        for big_endian in [false, true] {
            let whole = settings(big_endian, 750);
            assert_eq!(of_xsettings(&whole), Some(Duration::from_millis(750)));
            assert_eq!(of_xsettings(&whole[..whole.len() - 1]), None);
        }
        assert_eq!(of_xsettings(&[]), None);
        let resources = "Xft.dpi:\t96\nXTerm*multiClickTime: 300\n*multiClickTime:800\nbroken\n";
        assert_eq!(of_resources(resources), Some(Duration::from_millis(800)));
        assert_eq!(of_resources("Xft.dpi: 96"), None);
    }

    #[test]
    fn a_recorded_press_is_read_back() {
        let press = LastPress {
            at: CapturePoint::new(-3, 799),
            button: Button::Forward,
            time: UNIX_EPOCH + Duration::from_millis(1_900_000_000_123),
        };
        assert_eq!(decode(&encode(&press)), Some(press));
        assert_eq!(decode(&[1, 2, 3]), None);
        assert_eq!(decode(&[99, 0, 0, 0, 0]), None);
    }
}
