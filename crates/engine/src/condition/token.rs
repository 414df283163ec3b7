//! The tokens of a condition: variables, literals, names and symbols, each with its place.

use std::borrow::Cow;
use std::ops::Range;

use super::ConditionError;
use super::number::Number;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConditionToken<'a> {
    Variable {
        name: &'a str,
        path: Vec<Box<str>>,
    },
    Number(Number),
    Text(Box<str>),
    Word(&'a str),
    /// An operator, a bracket, or a character that has no meaning here.
    Symbol(&'a str),
    End,
}

#[derive(Debug, Clone)]
pub(super) struct Placed<'a> {
    pub(super) token: ConditionToken<'a>,
    pub(super) at: Range<usize>,
}

pub(super) struct ConditionLexer<'a> {
    /// The whole condition.
    pub(super) text: &'a str,
    position: usize,
}

impl<'a> ConditionLexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    pub(super) fn next(&mut self) -> Result<Placed<'a>, ConditionError> {
        self.take_while(char::is_whitespace);
        let start = self.position;
        let token = match self.rest().chars().next() {
            None => ConditionToken::End,
            Some('$') => self.variable()?,
            Some(quote @ ('\'' | '"')) => self.string(quote)?,
            Some('0'..='9') => self.number(),
            Some(first) if is_word(first) => ConditionToken::Word(self.take_while(is_word)),
            Some(first) => self.symbol(first),
        };
        Ok(Placed { token, at: start..self.position })
    }

    /// `${NAME}` or `${NAME.path.0.more}`.
    fn variable(&mut self) -> Result<ConditionToken<'a>, ConditionError> {
        let start = self.position;
        self.position += "$".len();
        if !self.rest().starts_with('{') {
            let name = self.take_while(is_word);
            let name = if name.is_empty() { "NAME" } else { name };
            return Err(self.unexpected(format!("`${{{name}}}`"), start..self.position));
        }
        self.position += "{".len();
        let name = self.take_while(is_word);
        if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            self.position -= name.len();
            return Err(self.unexpected_here("a variable's name"));
        }
        let mut path = Vec::new();
        while self.rest().starts_with('.') {
            self.position += ".".len();
            let segment = self.take_while(|c| is_word(c) || c == '-');
            if segment.is_empty() {
                return Err(self.unexpected_here("the name or number of a part"));
            }
            path.push(segment.into());
        }
        if !self.rest().starts_with('}') {
            return Err(self.unexpected_here("`.` or `}`"));
        }
        self.position += "}".len();
        Ok(ConditionToken::Variable { name, path })
    }

    /// Only a backslash and the string's own quote can be escaped, so that the backslashes of a
    /// regular expression need not be doubled.
    fn string(&mut self, quote: char) -> Result<ConditionToken<'a>, ConditionError> {
        let mut text = String::new();
        let mut characters = self.rest().char_indices().skip(1).peekable();
        while let Some((offset, character)) = characters.next() {
            if character == quote {
                self.position += offset + quote.len_utf8();
                return Ok(ConditionToken::Text(text.into()));
            }
            let escaped = characters
                .next_if(|(_, next)| character == '\\' && (*next == '\\' || *next == quote));
            text.push(escaped.map_or(character, |(_, escaped)| escaped));
        }
        let at = self.position..self.text.len();
        Err(ConditionError::UnterminatedString { at })
    }

    /// Digits, and optionally a point and more digits. A sign is an operator.
    fn number(&mut self) -> ConditionToken<'a> {
        let start = self.position;
        let is_digit = |c: char| c.is_ascii_digit();
        self.take_while(is_digit);
        if let Some(decimals) = self.rest().strip_prefix('.')
            && decimals.starts_with(is_digit)
        {
            self.position += ".".len();
            self.take_while(is_digit);
        }
        let digits = &self.text[start..self.position];
        ConditionToken::Number(Number::read(digits).expect("digits read as a number"))
    }

    fn symbol(&mut self, first: char) -> ConditionToken<'a> {
        let rest = self.rest();
        let long = ["==", "!=", "<=", ">=", "&&", "||"];
        let length = match long.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => symbol.len(),
            None => first.len_utf8(),
        };
        self.position += length;
        ConditionToken::Symbol(&rest[..length])
    }

    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = &rest[..rest.find(|c| !wanted(c)).unwrap_or(rest.len())];
        self.position += taken.len();
        taken
    }

    fn unexpected_here(&self, expected: &'static str) -> ConditionError {
        let length = self.rest().chars().next().map_or(0, char::len_utf8);
        self.unexpected(expected, self.position..self.position + length)
    }

    pub(super) fn unexpected(
        &self,
        expected: impl Into<Cow<'static, str>>,
        at: Range<usize>,
    ) -> ConditionError {
        ConditionError::Unexpected {
            expected: expected.into(),
            found: self.text[at.clone()].to_owned(),
            at,
        }
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
