//! Lists of commands: their separators and redirections.

use super::bare_names::NameSearch;
use super::compound::Reserved;
use super::words::{WordEnd, find};
use super::{CommandWord, Evaluation, LexError, Quoting, ShellLexer, Trouble};

/// After how many `&>` of one command all further words count as code.
const AMPERSANDS_MAX: usize = 8;

/// What ends a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListUntil {
    /// The end of the text.
    End,
    /// `)` of a subshell.
    Subshell,
    /// `)` of a substitution, which is a text of its own.
    Substitution,
    /// `;;` or `esac`
    CaseItem,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEnd {
    Here,
    Esac,
}

#[derive(Clone)]
pub(super) struct LexedCommand {
    /// Its first word in `words` and its first mark in `marks`.
    pub(super) words: usize,
    pub(super) marks: usize,
    /// The first here-document of its pipeline in `pending`.
    pub(super) pending: usize,
    /// The first mark of the commands whose output it reads, or its own.
    pub(super) input: usize,
    /// It reads a pipe, or a redirection of its own.
    pub(super) has_input: bool,
    pub(super) shape: CommandShape,
    /// A redirection or an assignment came first, so no reserved word can follow.
    begun: bool,
    /// `export` and the like: their arguments are assignments too.
    declares: bool,
    /// The words after each `&>`. In dash, which has no `&>`, it ends the command and the next
    /// begins.
    after_ampersand: Vec<usize>,
}

/// The start of a pipeline: its first mark, and its first here-document in `pending`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pipeline {
    input: usize,
    pending: usize,
}

impl LexedCommand {
    pub(super) fn pipeline(&self) -> Pipeline {
        Pipeline { input: self.input, pending: self.pending }
    }

    /// Makes the command a part of an earlier pipeline.
    pub(super) fn continue_pipeline(&mut self, pipeline: Pipeline) {
        self.input = pipeline.input;
        self.pending = pipeline.pending;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandShape {
    Simple,
    /// After `time`, whose options may follow.
    Timed,
    /// After `for`, `for x`, `case`, `case x`, `function`.
    For,
    ForName,
    Case,
    CaseSubject,
    Function,
    /// After `for x in`: words that are not a command.
    Words,
}

impl ShellLexer<'_> {
    pub(super) fn list(&mut self, until: ListUntil) -> Result<ListEnd, LexError> {
        let outer = self.pending_outer;
        if matches!(until, ListUntil::End | ListUntil::Substitution) {
            self.pending_outer = self.pending.len();
        }
        self.splits = true;
        self.level += 1;
        let ended = self.commands(until)?;
        self.level -= 1;
        self.pending_outer = outer;
        Ok(ended)
    }

    fn commands(&mut self, until: ListUntil) -> Result<ListEnd, LexError> {
        let open = self.pos;
        let mut command = self.command();
        // The starts of the pipelines that contain open compound commands, outermost first.
        let mut compounds: Vec<Pipeline> = Vec::new();
        loop {
            if self.pos >= self.end {
                self.finish(&mut command)?;
                return match until {
                    ListUntil::End if self.pending.len() == self.pending_outer => Ok(ListEnd::Here),
                    ListUntil::End => self.fail_pending(),
                    ListUntil::Subshell | ListUntil::Substitution => {
                        self.fail(Trouble::Unterminated("("), open - 1)
                    }
                    ListUntil::CaseItem => self.fail(Trouble::Unterminated("case"), open - 1),
                };
            }
            match self.bytes[self.pos] {
                _ if self.pos == self.next.start => {
                    if let Some(ended) = self.command_word(&mut command, &mut compounds, until)? {
                        return Ok(ended);
                    }
                }
                b' ' | b'\t' => self.pos += 1,
                b'\\' if self.peek(1) == b'\n' => self.pos += 2,
                b'\n' => {
                    if !matches!(command.shape, CommandShape::ForName | CommandShape::CaseSubject) {
                        self.finish(&mut command)?;
                    }
                    self.line_end()?;
                }
                b'#' => self.comment(),
                b';' => {
                    self.finish(&mut command)?;
                    self.pos += 1;
                    if matches!(self.peek(0), b';' | b'&') {
                        if until != ListUntil::CaseItem {
                            return self.fail(Trouble::Unexpected, self.pos);
                        }
                        self.pos += if self.starts(";&") { 2 } else { 1 };
                        return Ok(ListEnd::Here);
                    }
                }
                b'&' if self.peek(1) == b'>' => {
                    command.after_ampersand.push(self.words.len());
                    self.pos += 1;
                    self.redirection(&mut command)?;
                }
                b'|' if self.peek(1) != b'|' => {
                    let pipeline = command.pipeline();
                    self.finish(&mut command)?;
                    command.continue_pipeline(pipeline);
                    command.has_input = true;
                    self.feed(command.input);
                    self.pos += if self.peek(1) == b'&' { 2 } else { 1 };
                }
                b'&' | b'|' => {
                    self.finish(&mut command)?;
                    self.pos += if self.starts("||") || self.starts("&&") { 2 } else { 1 };
                }
                b'(' => self.opening(&mut command)?,
                b')' => {
                    self.finish(&mut command)?;
                    match until {
                        ListUntil::End | ListUntil::CaseItem => {
                            return self.fail(Trouble::Unexpected, self.pos);
                        }
                        ListUntil::Substitution if self.pending.len() > self.pending_outer => {
                            return self.fail_pending();
                        }
                        ListUntil::Substitution | ListUntil::Subshell => {}
                    }
                    self.pos += 1;
                    return Ok(ListEnd::Here);
                }
                b'<' | b'>' if self.peek(1) != b'(' => self.redirection(&mut command)?,
                _ => {
                    if let Some(ended) = self.command_word(&mut command, &mut compounds, until)? {
                        return Ok(ended);
                    }
                }
            }
        }
    }

    fn command(&self) -> LexedCommand {
        LexedCommand {
            words: self.words.len(),
            marks: self.marks.len(),
            pending: self.pending.len(),
            input: self.marks.len(),
            has_input: false,
            shape: CommandShape::Simple,
            begun: false,
            declares: false,
            after_ampersand: Vec::new(),
        }
    }

    /// Ends the command: settles what its words mean and prepares for the next one.
    fn finish(&mut self, command: &mut LexedCommand) -> Result<(), LexError> {
        if matches!(
            command.shape,
            CommandShape::Case | CommandShape::CaseSubject | CommandShape::For
        ) {
            return self.fail(Trouble::Unexpected, self.pos);
        }
        if matches!(command.shape, CommandShape::Simple | CommandShape::Timed)
            && self.words.len() > command.words
        {
            self.settle(command);
            self.settle_for_dash(command);
        }
        self.words.truncate(command.words);
        *command = self.command();
        Ok(())
    }

    /// In dash, the words after `&>` are another command, so they are settled as one too.
    fn settle_for_dash(&mut self, command: &LexedCommand) {
        if let Some(&after) = command.after_ampersand.get(AMPERSANDS_MAX) {
            self.evaluate_all(command.marks, after..self.words.len(), Evaluation::Eval);
        }
        for &after in command.after_ampersand.iter().take(AMPERSANDS_MAX) {
            let words = self.words[after..].iter();
            let words = after + words.take_while(|word| word.name_end.is_some()).count();
            if words > command.words && words < self.words.len() {
                self.settle(&LexedCommand { words, after_ampersand: Vec::new(), ..*command });
            }
        }
    }

    /// `(`: a subshell, arithmetic, or the parentheses of a function.
    fn opening(&mut self, command: &mut LexedCommand) -> Result<(), LexError> {
        let open = self.pos;
        let words = self.words.len() - command.words;
        let is_first = words == 0 && !command.begun;
        let may_begin = matches!(command.shape, CommandShape::Simple | CommandShape::Timed);
        if self.peek(1) == b'(' && is_first && (may_begin || command.shape == CommandShape::For) {
            self.pos += 2;
            self.nested(Some(Evaluation::Arithmetic), |lexer| lexer.arithmetic(open, b')'))?;
            command.shape = CommandShape::Simple;
            return Ok(());
        }
        self.pos += 1;
        if may_begin && is_first {
            return self.nested(None, |lexer| lexer.list(ListUntil::Subshell)).map(|_| ());
        }
        if may_begin && words == 1 && !command.begun {
            while matches!(self.peek(0), b' ' | b'\t') {
                self.pos += 1;
            }
            if self.peek(0) == b')' {
                self.pos += 1;
                self.words.truncate(command.words);
                self.defines_functions = true;
                *command = self.command();
                return Ok(());
            }
        }
        self.fail(Trouble::Unexpected, open)
    }

    /// A word of the command, reserved or not.
    fn command_word(
        &mut self,
        command: &mut LexedCommand,
        compounds: &mut Vec<Pipeline>,
        until: ListUntil,
    ) -> Result<Option<ListEnd>, LexError> {
        let count = self.words.len() - command.words;
        let may_assign = count == 0 || command.declares || !command.after_ampersand.is_empty();
        let one_word = command.shape == CommandShape::Case;
        let kind = match command.shape {
            CommandShape::Simple | CommandShape::Timed if may_assign => WordEnd::Assignable,
            _ => WordEnd::Argument,
        };
        // `!(…)`: without extended patterns it negates a subshell, so it is read as one.
        if count == 0 && self.starts("!(") {
            self.pos += 1;
            return Ok(None);
        }
        self.splits = !one_word;
        let word = self.word(kind)?;
        self.splits = true;
        if word.at.is_empty() {
            return self.fail(Trouble::Unexpected, self.pos);
        }
        if matches!(self.peek(0), b'<' | b'>') && self.is_descriptor(&word) {
            return Ok(None);
        }
        self.shape_word(command, compounds, until, word)
    }

    /// Classifies a word by its position in the command.
    fn shape_word(
        &mut self,
        command: &mut LexedCommand,
        compounds: &mut Vec<Pipeline>,
        until: ListUntil,
        word: CommandWord,
    ) -> Result<Option<ListEnd>, LexError> {
        let plain = word.is_static && !word.quoted;
        let text = if plain { &self.text[word.at.clone()] } else { "" };
        match command.shape {
            CommandShape::Simple | CommandShape::Timed => {
                if self.words.len() == command.words {
                    if word.name_end.is_some() {
                        self.prompt_assignment(&word, command.marks);
                        command.begun = true;
                        return Ok(None);
                    }
                    if !command.begun && plain {
                        match self.reserved(command, compounds, until, &word)? {
                            Reserved::No => {}
                            Reserved::Yes => return Ok(None),
                            Reserved::Esac => return Ok(Some(ListEnd::Esac)),
                        }
                    }
                    command.declares = self
                        .literal(&word)
                        .is_some_and(|name| super::meaning::DECLARING.contains(&&*name));
                }
                self.words.push(word);
            }
            CommandShape::For if !super::is_name(text.as_bytes()) => {
                return self.fail(Trouble::Unexpected, word.at.start);
            }
            CommandShape::For => {
                self.set.push(word.at.clone());
                self.words.push(word);
                command.shape = CommandShape::ForName;
            }
            CommandShape::ForName => match text {
                "in" => command.shape = CommandShape::Words,
                "do" | "{" => {
                    self.words.truncate(command.words);
                    *command = self.command();
                }
                _ => return self.fail(Trouble::Unexpected, word.at.start),
            },
            CommandShape::Words => {
                let name = self.words.get(command.words).map(|name| name.at.clone());
                if let Some(name) = name {
                    self.assign(name, word.at);
                }
            }
            CommandShape::Case => command.shape = CommandShape::CaseSubject,
            CommandShape::CaseSubject if text == "in" => {
                self.nested(None, |lexer| lexer.case_items(word.at.start))?;
                let pipeline = command.pipeline();
                *command = self.command();
                command.continue_pipeline(pipeline);
            }
            CommandShape::CaseSubject => return self.fail(Trouble::Unexpected, word.at.start),
            CommandShape::Function => {
                self.defines_functions = true;
                *command = self.command();
            }
        }
        Ok(None)
    }

    /// Blanks, line ends and comments.
    pub(super) fn blanks_and_lines(&mut self) -> Result<(), LexError> {
        loop {
            match self.peek(0) {
                _ if self.pos == self.next.start => return Ok(()),
                b' ' | b'\t' => self.pos += 1,
                b'\n' => self.line_end()?,
                b'\\' if self.peek(1) == b'\n' => self.pos += 2,
                b'#' => self.comment(),
                _ => return Ok(()),
            }
        }
    }

    fn comment(&mut self) {
        let rest = &self.bytes[self.pos..self.end];
        let length = find(rest, b'\n').unwrap_or(rest.len());
        self.pass(self.pos + length, Quoting::Comment);
    }

    /// Digits or `{name}` before a redirection.
    fn is_descriptor(&mut self, word: &CommandWord) -> bool {
        let text = &self.bytes[word.at.clone()];
        if text.iter().all(u8::is_ascii_digit) {
            return true;
        }
        let named = text.len() > 2 && text[0] == b'{' && text[text.len() - 1] == b'}';
        let name = word.at.start + 1..word.at.end - 1;
        if named && word.is_static && super::is_name(&self.bytes[name.clone()]) {
            self.set.push(name);
            return true;
        }
        // `{a[i]}>file`. Other shells read that as a word, and evaluate nothing in it.
        let base = name.start..name.start + self.name_len(name.start);
        if named && !base.is_empty() && self.bytes.get(base.end) == Some(&b'[') {
            self.evaluate(0, &word.at, Evaluation::Subscript);
            self.search_names(name, Evaluation::Subscript, NameSearch::InBrackets);
            self.set.push(base);
            return true;
        }
        false
    }

    fn redirection(&mut self, command: &mut LexedCommand) -> Result<(), LexError> {
        let start = self.pos;
        if self.starts("<<") && !self.starts("<<<") {
            command.begun = true;
            command.has_input = true;
            return self.here_document(start);
        }
        while matches!(self.peek(0), b'<' | b'>' | b'&' | b'|')
            && self.pos < start + 3
            && self.pos != self.next.start
            && !(self.pos > start && self.peek(1) == b'(')
        {
            self.pos += 1;
        }
        // The target of a descriptor was given elsewhere: `<&3`.
        command.has_input |= self.bytes[start] == b'<' && self.bytes[self.pos - 1] != b'&';
        while matches!(self.peek(0), b' ' | b'\t') || self.starts("\\\n") {
            self.pos += if self.peek(0) == b'\\' { 2 } else { 1 };
        }
        let marks = self.marks.len();
        let is_text = self.text[start..].starts_with("<<<");
        self.splits = false;
        let target = self.word(WordEnd::Argument)?;
        self.splits = true;
        self.marks_in(marks, &target.at)
            .iter_mut()
            .for_each(|mark| mark.place.is_target = !is_text);
        self.feed(marks);
        if target.at.is_empty() {
            return self.fail(Trouble::Unexpected, self.pos.min(self.end));
        }
        command.begun = true;
        Ok(())
    }

    /// Prompts are expanded when they are shown, and `BASH_ENV` is run.
    fn prompt_assignment(&mut self, word: &CommandWord, marks: usize) {
        let name = &self.text[word.at.start..word.name_end.unwrap_or(word.at.start)];
        if matches!(
            name,
            "PS0" | "PS1" | "PS2" | "PS3" | "PS4" | "PROMPT_COMMAND" | "BASH_ENV" | "ENV"
        ) {
            self.evaluate(marks, &word.at, Evaluation::Eval);
        }
    }
}
