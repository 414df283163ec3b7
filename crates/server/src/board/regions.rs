//! [`Region`]: a part of a page that changes by itself, made of fragments that come, change and go.
//!
//! A page and the stream that keeps it up to date are made from the same regions, so that they cannot differ.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use maud::{Markup, PreEscaped};
use serde_json::json;

/// A part of a page that changes by itself.
pub(crate) struct Region {
    /// The id of its element, and the name of its events.
    pub(crate) name: &'static str,
    /// In their order on the page.
    pub(crate) fragments: Vec<Fragment>,
}

/// A part of a region: one element.
pub(crate) struct Fragment {
    /// The element's id.
    pub(crate) id: String,
    /// The element.
    pub(crate) html: String,
}

impl Region {
    /// What stands in its element.
    pub(crate) fn content(&self) -> Markup {
        PreEscaped(self.fragments.iter().map(|fragment| fragment.html.as_str()).collect())
    }
}

impl Fragment {
    pub(crate) fn new(id: impl Into<String>, html: Markup) -> Self {
        Self { id: id.into(), html: html.into_string() }
    }
}

/// Names what a page shows: the same name, the same page.
pub(crate) fn state_of(regions: &[Region]) -> String {
    let mut hasher = DefaultHasher::new();
    for region in regions {
        region.name.hash(&mut hasher);
        for Fragment { id, html } in &region.fragments {
            (id, html).hash(&mut hasher);
        }
    }
    format!("{:016x}", hasher.finish())
}

/// What a page that is open has been sent.
#[derive(Default)]
pub(crate) struct Sent {
    state: Option<String>,
    /// By region: the order of its fragments, and what each looked like.
    regions: HashMap<&'static str, (Vec<String>, HashMap<String, u64>)>,
}

impl Sent {
    /// Of a page that says it shows this.
    pub(crate) fn shown(state: Option<String>) -> Self {
        Self { state, regions: HashMap::new() }
    }

    /// The events that make the page show these regions. Only the last one carries the new state: a page
    /// whose connection breaks before it gets everything anew.
    pub(crate) fn news(&mut self, regions: &[Region]) -> Vec<String> {
        let state = state_of(regions);
        let is_same = self.state.as_ref() == Some(&state);
        let mut events: Vec<String> = regions
            .iter()
            .filter_map(|region| {
                let event = self.news_of(region);
                event.filter(|_| !is_same)
            })
            .collect();
        if let Some(last) = events.last_mut() {
            last.insert_str(0, &format!("id: {state}\n"));
        }
        self.state = Some(state);
        events
    }

    fn news_of(&mut self, region: &Region) -> Option<String> {
        let order: Vec<String> =
            region.fragments.iter().map(|fragment| fragment.id.clone()).collect();
        let looks: HashMap<String, u64> = region
            .fragments
            .iter()
            .map(|Fragment { id, html }| {
                let mut hasher = DefaultHasher::new();
                html.hash(&mut hasher);
                (id.clone(), hasher.finish())
            })
            .collect();
        let known = self.regions.insert(region.name, (order.clone(), looks.clone()));
        if known.as_ref() == Some(&(order.clone(), looks.clone())) {
            return None;
        }
        let known = known.map(|(_, looks)| looks).unwrap_or_default();
        let changed = region
            .fragments
            .iter()
            .filter(|fragment| known.get(&fragment.id) != looks.get(&fragment.id))
            .map(|fragment| fragment.html.as_str());
        let html: String = changed.collect();
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
    fn a_page_is_sent_what_changed_and_the_order_of_all() {
        let mut sent = Sent::default();
        let first = [region("head", &[("h", "1")]), region("list", &[("a", "1"), ("b", "1")])];
        let state = state_of(&first);
        assert_eq!(
            sent.news(&first),
            [
                "event: head\ndata: {\"order\":[\"h\"],\"html\":\"<p id=\\\"h\\\">1</p>\"}\n\n"
                    .to_owned(),
                format!(
                    "id: {state}\nevent: list\ndata: {{\"order\":[\"a\",\"b\"],\"html\":\
                     \"<p id=\\\"a\\\">1</p><p id=\\\"b\\\">1</p>\"}}\n\n"
                ),
            ]
        );
        assert_eq!(sent.news(&first), Vec::<String>::new());
        let then = [region("head", &[("h", "1")]), region("list", &[("c", "1"), ("b", "2")])];
        let state = state_of(&then);
        assert_eq!(
            sent.news(&then),
            [format!(
                "id: {state}\nevent: list\ndata: {{\"order\":[\"c\",\"b\"],\"html\":\
                 \"<p id=\\\"c\\\">1</p><p id=\\\"b\\\">2</p>\"}}\n\n"
            )]
        );
    }

    #[test]
    fn a_page_that_comes_back_is_sent_nothing_if_it_shows_all_and_everything_if_it_does_not() {
        let now = [region("head", &[("h", "1")])];
        let mut same = Sent::shown(Some(state_of(&now)));
        assert_eq!(same.news(&now), Vec::<String>::new());
        assert_eq!(same.news(&[region("head", &[("h", "2")])]).len(), 1);
        let mut other = Sent::shown(Some("0".into()));
        assert_eq!(other.news(&now).len(), 1);
    }
}
