//! `declare` and the like, and `printf -v`: what they set, and what the shell evaluates for it.

use std::ops::Range;

use super::bare_names::NameSearch;
use super::following::Attribute;
use super::meaning::DECLARING;
use super::{CommandWord, Evaluation, ShellLexer, is_name};

impl ShellLexer<'_> {
    /// `declare` and the like: safe is only a plain visible name, without attributes that make the
    /// shell evaluate the value.
    pub(super) fn declaration(&mut self, marks: usize, arguments: Range<usize>) {
        let mut attribute = None;
        for at in arguments.clone() {
            let word = &self.words[at];
            match self.literal(word) {
                Some(option) if option.starts_with(['-', '+']) => {
                    attribute = match &option[1..] {
                        letters if letters.contains('i') => Some(Attribute::Integer),
                        letters if letters.contains('n') => Some(Attribute::Reference),
                        letters if letters.contains(['a', 'A']) => Some(Attribute::Array),
                        _ => None,
                    }
                    .max(attribute);
                }
                _ => {
                    let name = self.declared_name(word);
                    if let Some(name) = name.clone() {
                        self.set.push(name.clone());
                        let value = name.end..word.at.end;
                        if let Some(attribute) = attribute {
                            self.attribute(name.clone(), attribute);
                        }
                        self.assign(name, value);
                    } else {
                        self.sets_others = true;
                    }
                    if name.is_none() || attribute.is_some() {
                        self.evaluate_word(marks, at, Evaluation::Declaration);
                        let is_calculated = name.is_none() && attribute == Some(Attribute::Integer);
                        let search = if is_calculated {
                            NameSearch::Everywhere
                        } else {
                            NameSearch::InBrackets
                        };
                        self.search_words(at..at + 1, Evaluation::Declaration, search);
                    }
                }
            }
        }
        if attribute.is_some() {
            // An option may also come after the names.
            self.evaluate_all(marks, arguments, Evaluation::Declaration);
        }
    }

    /// `printf -v name …` stores its output.
    pub(super) fn printed(&mut self, arguments: Range<usize>) {
        let words = &self.words[arguments];
        let Some(option) =
            words.iter().position(|word| self.text[word.at.clone()].starts_with("-v"))
        else {
            return;
        };
        let is_alone = words[option].at.len() == "-v".len();
        let named = if is_alone { words.get(option + 1) } else { words.get(option) };
        let (Some(named), Some(last)) = (named, words.last()) else { return };
        let quote = usize::from(matches!(self.bytes[named.at.start], b'"' | b'\''));
        let start = named.at.start + if is_alone { quote } else { "-v".len() };
        let name = start..start + self.name_len(start);
        let value = named.at.end..last.at.end;
        if !name.is_empty() && name.end <= named.at.end {
            self.assign(name, value);
        }
    }

    /// The name before the `=` in an argument of `declare`, if it is visible.
    fn declared_name(&self, word: &CommandWord) -> Option<Range<usize>> {
        let bytes = &self.bytes[word.at.clone()];
        let quote = usize::from(matches!(bytes.first(), Some(b'"' | b'\'')));
        let start = word.at.start + quote;
        let length = bytes[quote..].iter().take_while(|byte| super::is_name_byte(**byte)).count();
        let name = start..start + length;
        let after = &self.bytes[name.end..word.at.end];
        let ends = match after.first() {
            None => true,
            Some(b'=') => true,
            Some(b'+') => after.get(1) == Some(&b'='),
            Some(b'"' | b'\'') => quote == 1 && after.len() == 1,
            Some(_) => false,
        };
        (ends && is_name(&self.bytes[name.clone()])).then_some(name)
    }

    /// `eval declare -i n`
    pub(super) fn declared_by_code(&mut self, arguments: Range<usize>) {
        let words = self.words[arguments].iter().map(|word| &self.text[word.at.clone()]);
        let declares = |word: &str| DECLARING.iter().any(|name| word.contains(name));
        if words.clone().any(declares) {
            let mut options = words.flat_map(str::split_whitespace);
            let is_integer = options.any(|word| word.starts_with('-') && word.contains('i'));
            let attribute = if is_integer { Attribute::Integer } else { Attribute::Array };
            self.declares_unseen = self.declares_unseen.max(Some(attribute));
        }
    }
}
