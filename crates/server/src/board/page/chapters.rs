//! [`stages_newest_first`]: groups rows by stage and work item.

use hookwright_pipeline::timeline::Milestone;

use super::super::rows::{Row, RowContent, Rows};

/// The rows of a stage or a work item, or those outside of them.
pub(super) struct Chapter<'r> {
    pub(super) began: Option<&'r Row>,
    pub(super) ended: Option<&'r Row>,
    pub(super) kind: ChapterKind,
    pub(super) rows: Vec<&'r Row>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChapterKind {
    Outside,
    Stage,
    /// Rows of a stage outside of its work items.
    WithinStage,
    Item,
}

/// Groups rows in order.
pub(super) fn chapters(rows: &Rows) -> Vec<Chapter<'_>> {
    let chapter = |kind, began| Chapter { began, ended: None, kind, rows: Vec::new() };
    let mut chapters = Vec::new();
    let mut open = match (rows.stage_before(), rows.item_before()) {
        (Some(stage), item) => {
            chapters.push(chapter(ChapterKind::Stage, Some(stage)));
            match item {
                Some(item) => chapter(ChapterKind::Item, Some(item)),
                None => chapter(ChapterKind::WithinStage, None),
            }
        }
        (None, _) => chapter(ChapterKind::Outside, None),
    };
    for row in rows.iter() {
        let next = match &row.what {
            RowContent::Milestone(Milestone::StageBegan { .. }) => {
                chapter(ChapterKind::Stage, Some(row))
            }
            RowContent::Milestone(Milestone::ItemBegan { .. }) => {
                chapter(ChapterKind::Item, Some(row))
            }
            RowContent::Milestone(Milestone::ItemEnded { .. }) => {
                open.ended = Some(row);
                chapter(ChapterKind::WithinStage, None)
            }
            RowContent::Milestone(Milestone::StageEnded { .. }) => {
                chapters.push(open);
                let stage =
                    chapters.iter_mut().rev().find(|chapter| chapter.kind == ChapterKind::Stage);
                if let Some(stage) = stage {
                    stage.ended = Some(row);
                }
                open = chapter(ChapterKind::Outside, None);
                continue;
            }
            RowContent::Milestone(_)
            | RowContent::Iteration(..)
            | RowContent::TimelineEvent(..) => {
                open.rows.push(row);
                continue;
            }
        };
        chapters.push(std::mem::replace(&mut open, next));
    }
    chapters.push(open);
    chapters
}

/// A stage, and the chapters within it.
pub(super) struct StageChapters<'c, 'r> {
    pub(super) own: &'c Chapter<'r>,
    /// Newest first.
    pub(super) within: Vec<&'c Chapter<'r>>,
}

/// The newest stage first, and in it the newest chapter.
pub(super) fn stages_newest_first<'c, 'r>(
    chapters: &'c [Chapter<'r>],
) -> Vec<StageChapters<'c, 'r>> {
    let mut stages: Vec<StageChapters<'_, '_>> = Vec::new();
    for chapter in chapters {
        match (chapter.kind, stages.last_mut()) {
            (ChapterKind::Item | ChapterKind::WithinStage, Some(stage)) => {
                stage.within.insert(0, chapter)
            }
            (
                ChapterKind::Outside
                | ChapterKind::Stage
                | ChapterKind::Item
                | ChapterKind::WithinStage,
                _,
            ) => {
                stages.push(StageChapters { own: chapter, within: Vec::new() });
            }
        }
    }
    stages.reverse();
    stages
}
