//! Conversion of elements, their states and relations.
//!
//! References between elements are not checked here.

use super::require;
use crate::domain::element::{
    Element, ElementKind, ElementSource, ElementState, Relation, RelationKind, Scene,
};
use crate::domain::id::{ElementId, FrameId};
use crate::error::FieldError;
use crate::v1::common as wire;

enumerations! {
    optional kind("kind"): wire::ElementKind => ElementKind {
        Button, TextField, Checkbox, Radio, Switch, DropDown, Slider, SpinBox, Tab, Link, MenuItem, ListItem, TableRow,
        Icon, Image, Label, ScrollBar, WindowControl, Dialog, Control
    }

    required source("source"): wire::ElementSource => ElementSource { Detector, Ocr, Both }
}

impl From<wire::ElementState> for ElementState {
    fn from(state: wire::ElementState) -> Self {
        let wire::ElementState {
            checked,
            selected,
            disabled,
            focused,
            expanded,
            placeholder,
        } = state;
        Self {
            checked,
            selected,
            disabled,
            focused,
            expanded,
            placeholder,
        }
    }
}

impl From<ElementState> for wire::ElementState {
    fn from(state: ElementState) -> Self {
        let ElementState {
            checked,
            selected,
            disabled,
            focused,
            expanded,
            placeholder,
        } = state;
        Self {
            checked,
            selected,
            disabled,
            focused,
            expanded,
            placeholder,
        }
    }
}

impl TryFrom<wire::Element> for Element {
    type Error = FieldError;

    fn try_from(element: wire::Element) -> Result<Self, FieldError> {
        Ok(Self {
            id: ElementId(element.id),
            kind: kind(element.kind)?.ok_or_else(|| FieldError::missing("kind"))?,
            content: element.content,
            bounds: require("bounds", element.bounds)?,
            interactable: element.interactable,
            confidence: element.confidence,
            centre: require("centre", element.centre)?,
            source: source(element.source)?,
            state: element.state.map(ElementState::from).unwrap_or_default(),
        })
    }
}

impl From<Element> for wire::Element {
    fn from(element: Element) -> Self {
        Self {
            id: element.id.0,
            kind: wire::ElementKind::from(element.kind).into(),
            content: element.content,
            bounds: Some(element.bounds.into()),
            interactable: element.interactable,
            confidence: element.confidence,
            centre: Some(element.centre.into()),
            source: wire::ElementSource::from(element.source).into(),
            state: Some(element.state.into()),
        }
    }
}

conversions! {
    wire::Scene => Scene {
        frame: id(FrameId),
        elements: repeated,
        relations: repeated,
    }
}

impl TryFrom<wire::ElementRelation> for Relation {
    type Error = FieldError;

    fn try_from(relation: wire::ElementRelation) -> Result<Self, FieldError> {
        let kind = match relation.kind() {
            wire::ElementRelationKind::LabelOf => RelationKind::LabelOf,
            wire::ElementRelationKind::PartOf => RelationKind::PartOf,
            wire::ElementRelationKind::GroupedWith => RelationKind::GroupedWith,
            wire::ElementRelationKind::HeadingOf => RelationKind::HeadingOf,
            wire::ElementRelationKind::Unspecified => return Err(FieldError::missing("kind")),
        };
        Ok(Self {
            kind,
            from: ElementId(relation.from),
            to: ElementId(relation.to),
        })
    }
}

impl From<Relation> for wire::ElementRelation {
    fn from(relation: Relation) -> Self {
        let kind = match relation.kind {
            RelationKind::LabelOf => wire::ElementRelationKind::LabelOf,
            RelationKind::PartOf => wire::ElementRelationKind::PartOf,
            RelationKind::GroupedWith => wire::ElementRelationKind::GroupedWith,
            RelationKind::HeadingOf => wire::ElementRelationKind::HeadingOf,
        };
        Self {
            kind: kind.into(),
            from: relation.from.0,
            to: relation.to.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_relations_round_trip() {
        use RelationKind::{GroupedWith, HeadingOf, LabelOf, PartOf};

        for kind in [LabelOf, PartOf, GroupedWith, HeadingOf] {
            let relation = Relation {
                kind,
                from: ElementId(7),
                to: ElementId(4),
            };
            let message = wire::ElementRelation::from(relation);
            assert_eq!(Relation::try_from(message), Ok(relation));
        }
    }
}
