//! Matching of queries on described screens.

use motorium_phrasebook::matcher::{
    ElementMatch, ElementQuery, Interaction, MatchResult, Relation, ScreenIndex,
};
use motorium_phrasebook::screens::{DescribedScreen, screen};
use motorium_proto::domain::action::{FramePart, Ordinal};
use motorium_proto::domain::element::ElementKind;

/// A page of forms as text recognition alone reads it.
const PAGE_AS_READ: &str = include_str!("page_as_read.txt");

fn find(seen: &DescribedScreen, description: &ElementQuery, purpose: Interaction) -> MatchResult {
    ScreenIndex::new(&seen.frame, &seen.scene).find(description, purpose)
}

#[track_caller]
fn one(seen: &DescribedScreen, description: &ElementQuery, purpose: Interaction) -> ElementMatch {
    match find(seen, description, purpose) {
        MatchResult::Unique(hit) => hit,
        other => panic!("{description:?}: {other:?}"),
    }
}

/// Asserts that the point found lies in the box `x1..x2`, `y1..y2`.
#[track_caller]
fn check(
    seen: &DescribedScreen,
    description: &ElementQuery,
    purpose: Interaction,
    (x1, x2): (i32, i32),
    (y1, y2): (i32, i32),
) {
    let point = one(seen, description, purpose).point;
    assert!(
        (x1..x2).contains(&point.x) && (y1..y2).contains(&point.y),
        "{description:?}: {point:?}"
    );
}

fn text(text: &str) -> ElementQuery {
    ElementQuery::text(text)
}

fn kind(text: &str, kind: ElementKind) -> ElementQuery {
    ElementQuery {
        kind: Some(kind),
        ..ElementQuery::text(text)
    }
}

#[test]
fn the_best_match_wins() {
    let seen = screen(
        r#"
        label 10,10 300x20 "Do you want to save the changes?"
        button 10,40 80x30 "Save"
        button 100,40 80x30 "Save As"
        button 190,40 80x30 "Saved"
        button 280,40 80x30 "Cancel"
        "#,
    );
    check(&seen, &text("save"), Interaction::Click, (10, 90), (40, 70));
    check(
        &seen,
        &text("Save as"),
        Interaction::Click,
        (100, 180),
        (40, 70),
    );
    check(
        &seen,
        &text("Cancei"),
        Interaction::Click,
        (280, 360),
        (40, 70),
    );
    let MatchResult::NotFound { nearest } = find(&seen, &text("Canned"), Interaction::Click) else {
        panic!("an unrelated text matched")
    };
    assert_eq!(nearest.first().map(String::as_str), Some("Cancel"));
}

#[test]
fn kind_place_ordinal_and_relation_disambiguate_matches() {
    let seen = screen(
        r#"
        label 20,20 60x20 "Delete"
        text 20,100 40x20 "Alice"
        button 200,95 60x30 "Edit"
        button 300,95 60x30 "Delete"
        text 20,140 40x20 "Bob"
        button 200,135 60x30 "Edit"
        button 300,135 60x30 "Delete"
        icon 950,10 30x30 "Settings"
        link 500,780 60x18 "Settings"
        "#,
    );
    let nth = |text: &str, ordinal| ElementQuery {
        kind: Some(ElementKind::Button),
        ordinal: Some(ordinal),
        ..ElementQuery::text(text)
    };
    check(
        &seen,
        &nth("Delete", Ordinal::Nth(2)),
        Interaction::Click,
        (300, 360),
        (135, 165),
    );
    check(
        &seen,
        &nth("Edit", Ordinal::Nth(1)),
        Interaction::Click,
        (200, 260),
        (95, 125),
    );
    check(
        &seen,
        &nth("Edit", Ordinal::Last),
        Interaction::Click,
        (200, 260),
        (135, 165),
    );
    assert!(matches!(
        find(&seen, &nth("Edit", Ordinal::Nth(3)), Interaction::Click),
        MatchResult::NotFound { .. }
    ));
    let beside = |thing: &str, relation, other: &str| ElementQuery {
        relation: Some((relation, Box::new(text(other)))),
        ..text(thing)
    };
    check(
        &seen,
        &beside("Delete", Relation::RowOf, "Bob"),
        Interaction::Click,
        (300, 360),
        (135, 165),
    );
    check(
        &seen,
        &beside("Edit", Relation::RightOf, "Alice"),
        Interaction::Click,
        (200, 260),
        (95, 125),
    );
    check(
        &seen,
        &ElementQuery {
            place: Some(FramePart::TopRight),
            ..text("Settings")
        },
        Interaction::Click,
        (950, 980),
        (10, 40),
    );
    check(
        &seen,
        &ElementQuery {
            place: Some(FramePart::Bottom),
            ..text("Settings")
        },
        Interaction::Click,
        (500, 560),
        (780, 798),
    );
    check(
        &seen,
        &kind("Settings", ElementKind::Link),
        Interaction::Click,
        (500, 560),
        (780, 798),
    );
    let MatchResult::Ambiguous(hits) = find(
        &seen,
        &kind("Edit", ElementKind::Button),
        Interaction::Click,
    ) else {
        panic!("there are two")
    };
    assert_eq!(hits.len(), 2);
    let first_button = ElementQuery {
        kind: Some(ElementKind::Button),
        ordinal: Some(Ordinal::Nth(1)),
        ..ElementQuery::default()
    };
    check(
        &seen,
        &first_button,
        Interaction::Click,
        (200, 260),
        (95, 125),
    );
}

#[test]
fn dialogs_and_the_active_window_come_first() {
    let seen = screen(
        r#"
        window 300,300 300x200 "Question" active modal
        window 0,0 800x600 "Editor"
        window 500,0 500x800 "Other"
        button 20,20 60x30 "OK"
        button 400,450 60x30 "OK"
        button 900,700 60x30 "OK"
        "#,
    );
    check(
        &seen,
        &text("OK"),
        Interaction::Click,
        (400, 460),
        (450, 480),
    );
    let inside = ElementQuery {
        relation: Some((Relation::Inside, Box::new(text("Editor")))),
        ..text("OK")
    };
    check(&seen, &inside, Interaction::Click, (20, 80), (20, 50));

    let page = screen(
        r#"
        button 20,20 60x30 "OK"
        dialog 300,300 300x200 "Really delete?"
        button 400,450 60x30 "OK"
        "#,
    );
    check(
        &page,
        &text("OK"),
        Interaction::Click,
        (400, 460),
        (450, 480),
    );
}

#[test]
fn duplicate_detection_of_a_control_is_one_match() {
    let seen = screen(
        r#"
        button 100,100 120x40 "Save"
        text 140,110 40x20 "Save"
        "#,
    );
    assert!(one(&seen, &text("Save"), Interaction::Click).is_whole_element);
}

#[test]
fn word_within_a_line_is_clicked_at_its_position() {
    let page = screen(PAGE_AS_READ);
    check(&page, &text("Home"), Interaction::Click, (20, 64), (19, 39));
    check(
        &page,
        &text("Products"),
        Interaction::Click,
        (67, 132),
        (19, 39),
    );
    check(
        &page,
        &text("About us"),
        Interaction::Click,
        (134, 197),
        (19, 39),
    );
    check(
        &page,
        &text("Contact"),
        Interaction::Click,
        (201, 258),
        (19, 39),
    );
    check(
        &page,
        &text("Save changes"),
        Interaction::Click,
        (315, 414),
        (409, 429),
    );
    check(
        &page,
        &text("Cancel"),
        Interaction::Click,
        (264, 310),
        (409, 429),
    );
    let edit = ElementQuery {
        relation: Some((Relation::RowOf, Box::new(text("Bob")))),
        ..text("Edit")
    };
    check(&page, &edit, Interaction::Click, (125, 165), (457, 477));
    check(
        &page,
        &text("File"),
        Interaction::Click,
        (612, 637),
        (27, 47),
    );
    check(
        &page,
        &text("Edit"),
        Interaction::Click,
        (650, 678),
        (27, 47),
    );
    check(
        &page,
        &text("View"),
        Interaction::Click,
        (752, 786),
        (29, 46),
    );
    check(
        &page,
        &text("Document"),
        Interaction::Click,
        (800, 869),
        (28, 48),
    );
}

#[test]
fn a_wide_menu_bar_has_gaps_between_its_words() {
    // Four words of 13 px with 30 px between them, as one line.
    let seen = screen(r#"text 10,10 204x18 "File Edit View Help""#);
    check(&seen, &text("File"), Interaction::Click, (10, 35), (10, 28));
    check(&seen, &text("Edit"), Interaction::Click, (62, 92), (10, 28));
    check(
        &seen,
        &text("View"),
        Interaction::Click,
        (118, 152),
        (10, 28),
    );
    check(
        &seen,
        &text("Help"),
        Interaction::Click,
        (178, 214),
        (10, 28),
    );
}

#[test]
fn a_field_is_found_by_its_label() {
    let seen = screen(
        r#"
        label 20,20 60x20 "Name:"
        text_field 100,15 200x30
        label 20,60 60x20 "E-mail *"
        text_field 100,55 200x30 "you@example.com"
        label 400,10 80x16 "Password"
        text_field 400,30 200x30
        label 400,70 80x16 "Comments"
        text_field 400,90 200x80
        text_field 20,300 200x30 "Search for products"
        button 230,300 60x30 "Search"
        drop_down 100,400 150x30 "Country"
        "#,
    );
    check(
        &seen,
        &text("Name"),
        Interaction::EnterText,
        (100, 300),
        (15, 45),
    );
    check(
        &seen,
        &text("e-mail"),
        Interaction::EnterText,
        (100, 300),
        (55, 85),
    );
    check(
        &seen,
        &text("Password"),
        Interaction::EnterText,
        (400, 600),
        (30, 60),
    );
    check(
        &seen,
        &text("Comments"),
        Interaction::EnterText,
        (400, 600),
        (90, 170),
    );
    check(
        &seen,
        &text("Search"),
        Interaction::EnterText,
        (20, 220),
        (300, 330),
    );
    check(
        &seen,
        &text("Country"),
        Interaction::EnterText,
        (100, 250),
        (400, 430),
    );
    let third = ElementQuery {
        kind: Some(ElementKind::TextField),
        ordinal: Some(Ordinal::Nth(3)),
        ..ElementQuery::default()
    };
    check(&seen, &third, Interaction::EnterText, (400, 600), (30, 60));
}

#[test]
fn a_field_that_was_not_detected_is_the_space_beside_its_label() {
    let page = screen(PAGE_AS_READ);
    check(
        &page,
        &text("Name"),
        Interaction::EnterText,
        (76, 240),
        (54, 75),
    );
    check(
        &page,
        &text("E-mail address"),
        Interaction::EnterText,
        (134, 300),
        (91, 111),
    );
    check(
        &page,
        &text("Password"),
        Interaction::EnterText,
        (20, 180),
        (149, 172),
    );
    check(
        &page,
        &text("Comments"),
        Interaction::EnterText,
        (20, 180),
        (204, 250),
    );
    check(
        &page,
        &text("姓名"),
        Interaction::EnterText,
        (75, 240),
        (290, 315),
    );
    check(
        &page,
        &text("First name"),
        Interaction::EnterText,
        (106, 290),
        (334, 356),
    );
    check(
        &page,
        &text("Street"),
        Interaction::EnterText,
        (106, 290),
        (384, 406),
    );
}

#[test]
fn a_box_is_found_by_the_text_beside_it() {
    let seen = screen(
        r#"
        checkbox 20,20 16x16 unchecked
        text 44,18 120x20 "I agree"
        checkbox 20,50 16x16 checked
        text 44,48 120x20 "Send me news"
        checkbox 20,80 160x20 "Remember me"
        text 20,120 120x20 "Alone"
        "#,
    );
    check(
        &seen,
        &text("I agree"),
        Interaction::Toggle,
        (20, 36),
        (20, 36),
    );
    assert_eq!(
        one(&seen, &text("Send me news"), Interaction::Toggle).checked,
        Some(true)
    );
    check(
        &seen,
        &text("Remember me"),
        Interaction::Toggle,
        (20, 180),
        (80, 100),
    );
    check(
        &seen,
        &text("Alone"),
        Interaction::Toggle,
        (20, 140),
        (120, 140),
    );
    check(
        &screen(PAGE_AS_READ),
        &text("Yes"),
        Interaction::Toggle,
        (205, 236),
        (254, 274),
    );
    check(
        &screen(PAGE_AS_READ),
        &text("I agree to the terms"),
        Interaction::Toggle,
        (45, 186),
        (254, 274),
    );
}

/// Settings as phones and web pages list them: the switch is at the end of the row, far from its words.
#[test]
fn a_switch_at_the_end_of_a_row_belongs_to_its_words() {
    let seen = screen(
        r#"
        text 40,100 80x20 "Location"
        switch 404,98 44x22 checked
        text 40,145 70x20 "Camera"
        switch 404,143 44x22 unchecked
        text_field 30,180 430x40 "Contacts"
        switch 404,188 44x22 checked
        text 40,240 80x20 "Alerts"
        text 200,240 60x20 "Weekly"
        switch 404,238 44x22 checked
        "#,
    );
    for (words, y, checked) in [
        ("Location", 109, true),
        ("Camera", 154, false),
        ("Contacts", 199, true),
        ("Weekly", 249, true),
    ] {
        let found = one(&seen, &text(words), Interaction::Toggle);
        assert_eq!(found.checked, Some(checked), "{words}");
        assert!(
            (found.point.x - 426).abs() <= 2 && (found.point.y - y).abs() <= 2,
            "{words}"
        );
    }
    // Other words stand between.
    assert_eq!(
        one(&seen, &text("Alerts"), Interaction::Toggle).checked,
        None
    );
}

#[test]
fn the_content_below_a_label_locates_its_field() {
    // Labels above their fields, fields with padding, as a browser draws them and text recognition reads them.
    let seen = screen(
        r#"
        label 676,284 49x24 "Name"
        label 689,322 101x26 "Ada Lovelace"
        label 676,372 54x24 "E-mail"
        label 689,410 138x26 "name@example.org"
        label 676,460 36x24 "City"
        label 689,497 101x26 "Choose a city"
        label 707,548 171x24 "Send me the newsletter"
        "#,
    );
    check(
        &seen,
        &text("Name"),
        Interaction::EnterText,
        (689, 790),
        (322, 348),
    );
    check(
        &seen,
        &text("E-mail"),
        Interaction::EnterText,
        (689, 827),
        (410, 436),
    );
    check(
        &seen,
        &text("City"),
        Interaction::EnterText,
        (689, 790),
        (497, 523),
    );
}

#[test]
fn a_wide_control_below_a_label_is_its_field() {
    // As a detector sees a form in the middle of a page that is not sure what its fields are.
    let seen = screen(
        r#"
        label 676,284 49x24 "Name"
        control 672,305 310x50 "Ada Lovelace"
        label 676,372 54x24 "E-mail"
        label 689,410 138x26 "name@example.org"
        label 676,460 36x24 "City"
        control 678,484 300x50 "Choose a city"
        "#,
    );
    check(
        &seen,
        &text("Name"),
        Interaction::EnterText,
        (672, 982),
        (306, 354),
    );
    check(
        &seen,
        &text("E-mail"),
        Interaction::EnterText,
        (689, 827),
        (410, 436),
    );
    check(
        &seen,
        &text("City"),
        Interaction::EnterText,
        (678, 978),
        (485, 533),
    );
    // By what it holds, too.
    check(
        &seen,
        &text("Choose a city"),
        Interaction::EnterText,
        (678, 978),
        (485, 533),
    );
}

#[test]
fn a_plain_field_right_below_its_label_is_hit_in_its_middle() {
    // As Chromium draws a form without any style: a field of 21 pixels touches the line of its label.
    let seen = screen(
        r#"
        text 8,107 88x38 "Order"
        text 7,371 40x21 "Street"
        text 7,426 38x21 "Town"
        text 7,485 34x23 "姓名"
        text 7,543 50x21 "Phone"
        "#,
    );
    let check = |label: &str, field: (i32, i32)| {
        let (top, bottom) = field;
        // Not on the border either, whatever the recognition of text is off by.
        check(
            &seen,
            &text(label),
            Interaction::EnterText,
            (10, 183),
            (top + 3, bottom - 3),
        );
    };
    check("Street", (391, 412));
    check("Town", (446, 467));
    check("姓名", (507, 528));
    check("Phone", (563, 584));
}

#[test]
fn a_placeholder_below_a_label_is_the_inside_of_its_field() {
    let seen = screen(
        r#"
        text 217,118 154x27 "Registration"
        text 214,198 51x21 "Name"
        text 229,236 140x20 "First and last name"
        text 215,285 54x21 "E-mail"
        text 228,325 148x20 "name@example.org"
        text 215,373 37x24 "City"
        text 228,411 102x23 "Choose a city"
        text 246,462 172x20 "Send me the newsletter"
        text 247,516 45x21 "Send"
        "#,
    );
    check(
        &seen,
        &text("Name"),
        Interaction::EnterText,
        (216, 780),
        (224, 268),
    );
    check(
        &seen,
        &text("E-mail"),
        Interaction::EnterText,
        (216, 780),
        (312, 356),
    );
    check(
        &seen,
        &text("City"),
        Interaction::EnterText,
        (216, 780),
        (400, 444),
    );
    check(
        &seen,
        &text("Send"),
        Interaction::Click,
        (216, 330),
        (505, 549),
    );
}

#[test]
fn a_longer_name_is_not_meant_beside_the_exact_one() {
    let seen = screen(
        r#"
        text 20,100 60x20 "Washer"
        button 300,95 60x30 "Add"
        link 20,140 90x20 "Washer XL"
        button 300,135 60x30 "Add"
        label 20,300 40x18 "Save"
        button 20,330 90x32 "Save file"
        "#,
    );
    let washer = kind("Washer", ElementKind::Link);
    check(&seen, &washer, Interaction::Click, (20, 80), (100, 120));
    let in_row = ElementQuery {
        relation: Some((Relation::RowOf, Box::new(text("Washer")))),
        ..kind("Add", ElementKind::Button)
    };
    check(&seen, &in_row, Interaction::Click, (300, 360), (95, 125));
    // A heading is no entry of the list of buttons below it.
    let save = kind("Save", ElementKind::Button);
    check(&seen, &save, Interaction::Click, (20, 110), (330, 362));
}

#[test]
fn the_name_of_a_row_is_not_a_field_in_it() {
    // Cells with borders, as the detector sees them.
    let seen = screen(
        r#"
        text_field 20,100 90x30 "Apples"
        table_row 110,100 70x30 "2.50"
        text_field 190,104 60x22 ""
        text_field 20,130 90x30 "Pears"
        "#,
    );
    let in_row = ElementQuery {
        kind: Some(ElementKind::TextField),
        relation: Some((Relation::RowOf, Box::new(text("Apples")))),
        ..ElementQuery::default()
    };
    check(
        &seen,
        &in_row,
        Interaction::EnterText,
        (190, 250),
        (104, 126),
    );
}

#[test]
fn a_number_that_goes_on_is_another_one() {
    let seen = screen(r#"button 20,100 80x30 "Step 12""#);
    let found = find(&seen, &text("Step 1"), Interaction::Click);
    assert!(matches!(found, MatchResult::NotFound { .. }), "{found:?}");
}

#[test]
fn links_of_one_line_are_clicked_at_their_words() {
    let seen = screen(
        r#"
        link 100,700 260x18 "Privacy  Terms of use  Contact us"
        link 100,100 900x40 "Read the terms"
        "#,
    );
    check(
        &seen,
        &text("Privacy"),
        Interaction::Click,
        (100, 155),
        (700, 718),
    );
    check(
        &seen,
        &text("Contact us"),
        Interaction::Click,
        (270, 360),
        (700, 718),
    );
    // A link as wide as its page is one target.
    check(
        &seen,
        &text("terms"),
        Interaction::Click,
        (540, 560),
        (100, 140),
    );
}
