use super::{into_messages, require, required_enum, try_from_messages};
use crate::domain::element::{
    Element, ElementKind, ElementSource, ElementState, Relation, RelationKind, Scene,
};
use crate::domain::id::{ElementId, FrameId};
use crate::error::FieldError;
use crate::v1::common as wire;

/// Converts a kind; `None` if unspecified.
pub(super) fn kind(number: i32) -> Result<Option<ElementKind>, FieldError> {
    use wire::ElementKind as Wire;

    let kind = Wire::try_from(number)
        .map_err(|_| FieldError::new("kind", format!("has the unknown value {number}")))?;
    Ok(Some(match kind {
        Wire::Unspecified => return Ok(None),
        Wire::Button => ElementKind::Button,
        Wire::TextField => ElementKind::TextField,
        Wire::Checkbox => ElementKind::Checkbox,
        Wire::Radio => ElementKind::Radio,
        Wire::Switch => ElementKind::Switch,
        Wire::DropDown => ElementKind::DropDown,
        Wire::Slider => ElementKind::Slider,
        Wire::SpinBox => ElementKind::SpinBox,
        Wire::Tab => ElementKind::Tab,
        Wire::Link => ElementKind::Link,
        Wire::MenuItem => ElementKind::MenuItem,
        Wire::ListItem => ElementKind::ListItem,
        Wire::TableRow => ElementKind::TableRow,
        Wire::Icon => ElementKind::Icon,
        Wire::Image => ElementKind::Image,
        Wire::Label => ElementKind::Label,
        Wire::ScrollBar => ElementKind::ScrollBar,
        Wire::WindowControl => ElementKind::WindowControl,
        Wire::Dialog => ElementKind::Dialog,
        Wire::Control => ElementKind::Control,
    }))
}

impl From<ElementKind> for wire::ElementKind {
    fn from(kind: ElementKind) -> Self {
        match kind {
            ElementKind::Button => Self::Button,
            ElementKind::TextField => Self::TextField,
            ElementKind::Checkbox => Self::Checkbox,
            ElementKind::Radio => Self::Radio,
            ElementKind::Switch => Self::Switch,
            ElementKind::DropDown => Self::DropDown,
            ElementKind::Slider => Self::Slider,
            ElementKind::SpinBox => Self::SpinBox,
            ElementKind::Tab => Self::Tab,
            ElementKind::Link => Self::Link,
            ElementKind::MenuItem => Self::MenuItem,
            ElementKind::ListItem => Self::ListItem,
            ElementKind::TableRow => Self::TableRow,
            ElementKind::Icon => Self::Icon,
            ElementKind::Image => Self::Image,
            ElementKind::Label => Self::Label,
            ElementKind::ScrollBar => Self::ScrollBar,
            ElementKind::WindowControl => Self::WindowControl,
            ElementKind::Dialog => Self::Dialog,
            ElementKind::Control => Self::Control,
        }
    }
}

impl From<ElementSource> for wire::ElementSource {
    fn from(source: ElementSource) -> Self {
        match source {
            ElementSource::Detector => Self::Detector,
            ElementSource::Ocr => Self::Ocr,
            ElementSource::Both => Self::Both,
        }
    }
}

fn source(number: i32) -> Result<ElementSource, FieldError> {
    use wire::ElementSource as Wire;

    required_enum("source", number, |source| match source {
        Wire::Unspecified => None,
        Wire::Detector => Some(ElementSource::Detector),
        Wire::Ocr => Some(ElementSource::Ocr),
        Wire::Both => Some(ElementSource::Both),
    })
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

impl TryFrom<wire::Scene> for Scene {
    type Error = FieldError;

    fn try_from(scene: wire::Scene) -> Result<Self, FieldError> {
        Ok(Self {
            frame: FrameId::new(scene.frame),
            elements: try_from_messages("elements", scene.elements)?,
            relations: try_from_messages("relations", scene.relations)?,
        })
    }
}

impl From<Scene> for wire::Scene {
    fn from(scene: Scene) -> Self {
        Self {
            frame: scene.frame.as_str().to_owned(),
            elements: into_messages(scene.elements),
            relations: into_messages(scene.relations),
        }
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
    fn relations_come_back() {
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
