//! [`Region`]: a part of a page that updates itself, made of fragments that come, change and go.
//!
//! A page and the stream that updates it are made from the same regions, so they cannot differ.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use maud::{Markup, PreEscaped};
use serde_json::json;

/// A part of a page that updates itself.
pub(crate) struct Region {
    /// The id of its element, and the name of its events.
    pub(crate) name: &'static str,
    /// The fragments, in their order on the page.
    pub(crate) fragments: Vec<Fragment>,
}

/// A part of a region: one element.
pub(crate) struct Fragment {
    /// The element's id.
    pub(crate) id: String,
    /// The element.
    pub(crate) html: String,
    /// Hash of the element.
    look: u64,
}

impl Region {
    /// The content of the region's element.
    pub(crate) fn content(&self) -> Markup {
        PreEscaped(self.fragments.iter().map(|fragment| fragment.html.as_str()).collect())
    }
}

impl Fragment {
    pub(crate) fn new(id: impl Into<String>, html: Markup) -> Self {
        let (id, html) = (id.into(), html.into_string());
        let mut hasher = DefaultHasher::new();
        (&id, &html).hash(&mut hasher);
        Self { id, html, look: hasher.finish() }
    }
}

/// A hash of a page's content: an equal hash means an equal page.
pub(crate) fn state_of(regions: &[Region]) -> String {
    let mut hasher = DefaultHasher::new();
    for Region { name, fragments } in regions {
        name.hash(&mut hasher);
        fragments.iter().map(|fragment| fragment.look).for_each(|look| look.hash(&mut hasher));
    }
    format!("{:016x}", hasher.finish())
}

/// The events that make any page show these regions.
pub(crate) fn everything(regions: &[Region]) -> String {
    ShownRegions::default().changes_to(regions).unwrap_or_default()
}

/// The pages' current content: each region's fragments in order, with their hashes.
#[derive(Default)]
pub(crate) struct ShownRegions(HashMap<&'static str, Vec<(String, u64)>>);

impl ShownRegions {
    /// The events that update pages to these regions; `None` if nothing changed. Only the last one
    /// carries the new state: a page whose connection breaks before it gets everything again.
    pub(crate) fn changes_to(&mut self, regions: &[Region]) -> Option<String> {
        let events = regions.iter().filter_map(|region| self.event_for(region));
        let mut events: Vec<String> = events.collect();
        let state = state_of(regions);
        events.last_mut()?.insert_str(0, &format!("id: {state}\n"));
        Some(events.concat())
    }

    fn event_for(&mut self, region: &Region) -> Option<String> {
        let of = |fragment: &Fragment| (fragment.id.clone(), fragment.look);
        let looks: Vec<(String, u64)> = region.fragments.iter().map(of).collect();
        let before = self.0.insert(region.name, looks);
        let looks = &self.0[region.name];
        if before.as_ref() == Some(looks) {
            return None;
        }
        let before: HashMap<String, u64> = before.into_iter().flatten().collect();
        let is_new = |fragment: &&Fragment| before.get(&fragment.id) != Some(&fragment.look);
        let changed = region.fragments.iter().filter(is_new);
        let html: String = changed.map(|fragment| fragment.html.as_str()).collect();
        let order: Vec<&str> = looks.iter().map(|(id, _)| id.as_str()).collect();
        let (name, data) = (region.name, json!({ "order": order, "html": html }));
        Some(format!("event: {name}\ndata: {data}\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use maud::html;

    use super::*;

    fn region(name: &'static str, fragments: &[(&str, &str)]) -> Region {
        let fragments = fragments
            .iter()
            .map(|(id, text)| Fragment::new(*id, html! { p id=(id) { (text) } }))
            .collect();
        Region { name, fragments }
    }

    #[test]
    fn pages_get_the_changes_and_the_order_of_all_fragments() {
        let mut shown = ShownRegions::default();
        let first = [region("head", &[("h", "1")]), region("list", &[("a", "1"), ("b", "1")])];
        let state = state_of(&first);
        let all = format!(
            "event: head\ndata: {{\"order\":[\"h\"],\"html\":\"<p id=\\\"h\\\">1</p>\"}}\n\n\
             id: {state}\nevent: list\ndata: {{\"order\":[\"a\",\"b\"],\"html\":\
             \"<p id=\\\"a\\\">1</p><p id=\\\"b\\\">1</p>\"}}\n\n"
        );
        assert_eq!(shown.changes_to(&first), Some(all));
        assert_eq!(shown.changes_to(&first), None);
        let then = [region("head", &[("h", "1")]), region("list", &[("c", "1"), ("b", "2")])];
        let state = state_of(&then);
        let changed = format!(
            "id: {state}\nevent: list\ndata: {{\"order\":[\"c\",\"b\"],\"html\":\
             \"<p id=\\\"c\\\">1</p><p id=\\\"b\\\">2</p>\"}}\n\n"
        );
        assert_eq!(shown.changes_to(&then), Some(changed));
        // Moved and removed fragments are covered by the new order.
        let last = [region("head", &[("h", "1")]), region("list", &[("b", "2")])];
        let state = state_of(&last);
        let moved =
            format!("id: {state}\nevent: list\ndata: {{\"order\":[\"b\"],\"html\":\"\"}}\n\n");
        assert_eq!(shown.changes_to(&last), Some(moved));
        assert_eq!(everything(&last).matches("event: ").count(), 2);
    }
}
