//! [`DnsQuestion`] and [`DnsReply`]: DNS messages (RFC 1035), as far as lookups of hosts need them.
//!
//! Any sender can forge a packet: a message counts only if it repeats the question, and every
//! length in it is checked against the bytes received.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HEADER_BYTES: usize = 12;
const CLASS_INTERNET: u16 = 1;
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// The kind of address to look up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressKind {
    V4,
    V6,
}

impl AddressKind {
    fn record_type(self) -> u16 {
        match self {
            Self::V4 => 1,
            Self::V6 => 28,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct DnsQuestion<'a> {
    /// Unpredictable, so that only the queried server can answer.
    pub(super) id: u16,
    pub(super) name: &'a str,
    pub(super) kind: AddressKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DnsReply {
    /// The name exists and has these addresses; perhaps none of this kind.
    Addresses(Vec<IpAddr>),
    NoSuchName,
    /// The server cannot answer.
    Failed,
    /// The whole answer is available over TCP only.
    Truncated,
}

impl DnsQuestion<'_> {
    /// The message to send; `None` if the name cannot be a host's.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        if self.name.len() > NAME_BYTES_MAX {
            return None;
        }
        let mut message = Vec::with_capacity(HEADER_BYTES + self.name.len() + 6);
        message.extend(self.id.to_be_bytes());
        // Recursion desired. One question, nothing else.
        message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        for label in self.name.split('.') {
            if label.is_empty() || label.len() > LABEL_BYTES_MAX {
                return None;
            }
            message.push(u8::try_from(label.len()).ok()?);
            message.extend(label.as_bytes());
        }
        message.push(0);
        message.extend(self.kind.record_type().to_be_bytes());
        message.extend(CLASS_INTERNET.to_be_bytes());
        Some(message)
    }

    /// The reply in a message; `None` if it does not answer this question.
    pub(super) fn reply(&self, message: &[u8]) -> Option<DnsReply> {
        let mut rest = Unread(message);
        let (id, flags) = (rest.number()?, rest.number()?);
        let is_reply = flags & 0x8000 != 0 && flags & 0x7800 == 0;
        if id != self.id || !is_reply {
            return None;
        }
        let (questions, answers) = (rest.number()?, rest.number()?);
        rest.take(4)?;
        let code = flags & 0x000f;
        match questions {
            1 => self.is_repeated(&mut rest)?,
            // Some servers refuse without repeating the question.
            0 if code != 0 => {}
            _ => return None,
        }
        if flags & 0x0200 != 0 {
            return Some(DnsReply::Truncated);
        }
        Some(match code {
            0 => self.addresses(answers, rest).map_or(DnsReply::Failed, DnsReply::Addresses),
            3 => DnsReply::NoSuchName,
            _ => DnsReply::Failed,
        })
    }

    fn is_repeated(&self, rest: &mut Unread<'_>) -> Option<()> {
        let mut labels = self.name.split('.');
        loop {
            let length = usize::from(rest.byte()?);
            if length == 0 {
                break labels.next().is_none().then_some(())?;
            }
            let same = labels.next()?.as_bytes().eq_ignore_ascii_case(rest.take(length)?);
            same.then_some(())?;
        }
        let is_same = rest.number()? == self.kind.record_type() && rest.number()? == CLASS_INTERNET;
        is_same.then_some(())
    }

    /// The addresses in the answers. They may belong to other names, to which aliases led the
    /// server; other kinds of answers are skipped.
    fn addresses(&self, answers: u16, mut rest: Unread<'_>) -> Option<Vec<IpAddr>> {
        let mut found = Vec::new();
        for _ in 0..answers {
            rest.skip_name()?;
            let (record_type, class) = (rest.number()?, rest.number()?);
            rest.take(4)?;
            let length = rest.number()?;
            let data = rest.take(length.into())?;
            if class == CLASS_INTERNET && record_type == self.kind.record_type() {
                found.push(match self.kind {
                    AddressKind::V4 => Ipv4Addr::from(<[u8; 4]>::try_from(data).ok()?).into(),
                    AddressKind::V6 => Ipv6Addr::from(<[u8; 16]>::try_from(data).ok()?).into(),
                });
            }
        }
        Some(found)
    }
}

/// The unread rest of a message. Reads past its end return `None`.
struct Unread<'a>(&'a [u8]);

impl<'a> Unread<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    fn number(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Skips a name. A pointer to another part of the message ends it.
    fn skip_name(&mut self) -> Option<()> {
        loop {
            match self.byte()? {
                0 => return Some(()),
                length if length < 64 => drop(self.take(length.into())?),
                pointer if pointer >= 0xc0 => return self.byte().map(drop),
                _ => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ASKED: DnsQuestion<'_> =
        DnsQuestion { id: 0x1234, name: "a.example", kind: AddressKind::V4 };

    /// A message that repeats the question and continues with these answers.
    fn message(flags: u16, answers: u16, records: &[u8]) -> Vec<u8> {
        let mut message = ASKED.encode().unwrap();
        message[2..4].copy_from_slice(&flags.to_be_bytes());
        message[6..8].copy_from_slice(&answers.to_be_bytes());
        message.extend(records);
        message
    }

    /// An address record for the name in the question.
    const ADDRESS: &[u8] = &[0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 1];
    /// An alias record, `b.example`, for the name in the question.
    const ALIAS: &[u8] = &[0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 60, 0, 4, 1, b'b', 0xc0, 14];

    fn reply(flags: u16, answers: u16, records: &[u8]) -> Option<DnsReply> {
        ASKED.reply(&message(flags, answers, records))
    }

    #[test]
    fn a_question_is_encoded_as_the_standard_requires() {
        let expected = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01";
        assert_eq!(ASKED.encode().unwrap(), expected);
        let long = "x".repeat(64);
        let too_long = ["abc."; 64].concat() + "abc";
        for name in ["", "a..b", ".a", long.as_str(), too_long.as_str()] {
            assert_eq!(DnsQuestion { name, ..ASKED }.encode(), None, "{name}");
        }
    }

    #[test]
    fn an_answer_includes_the_addresses_of_aliases() {
        let both = [ALIAS, ADDRESS].concat();
        let found = DnsReply::Addresses(vec!["10.0.0.1".parse().unwrap()]);
        assert_eq!(reply(0x8180, 2, &both), Some(found));
        assert_eq!(reply(0x8180, 0, b""), Some(DnsReply::Addresses(vec![])));
        let v6 = DnsQuestion { kind: AddressKind::V6, ..ASKED };
        let mut message = v6.encode().unwrap();
        message[2..8].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1]);
        message.extend([0xc0, 12, 0, 28, 0, 1, 0, 0, 0, 60, 0, 16]);
        message.extend(Ipv6Addr::LOCALHOST.octets());
        assert_eq!(v6.reply(&message), Some(DnsReply::Addresses(vec!["::1".parse().unwrap()])));
    }

    #[test]
    fn refusals_and_truncated_answers_are_distinguished() {
        assert_eq!(reply(0x8183, 0, b""), Some(DnsReply::NoSuchName));
        for code in [1, 2, 4, 5] {
            assert_eq!(reply(0x8180 | code, 0, b""), Some(DnsReply::Failed));
        }
        assert_eq!(reply(0x8380, 1, ADDRESS), Some(DnsReply::Truncated));
        assert_eq!(reply(0x8180, 2, ADDRESS), Some(DnsReply::Failed), "an answer is missing");
        assert_eq!(ASKED.reply(b"\x12\x34\x81\x85\0\0\0\0\0\0\0\0"), Some(DnsReply::Failed));
    }

    #[test]
    fn a_message_that_answers_another_question_is_ignored() {
        let good = message(0x8180, 1, ADDRESS);
        assert!(ASKED.reply(&good).is_some());
        let others = [
            DnsQuestion { id: 1, ..ASKED },
            DnsQuestion { name: "b.example", ..ASKED },
            DnsQuestion { name: "a.example.com", ..ASKED },
            DnsQuestion { name: "a", ..ASKED },
            DnsQuestion { kind: AddressKind::V6, ..ASKED },
        ];
        for other in others {
            assert_eq!(other.reply(&good), None, "{other:?}");
        }
        assert_eq!(reply(0x0100, 1, ADDRESS), None, "a question");
        assert_eq!(ASKED.reply(b""), None);
        assert_eq!(ASKED.reply(b"\x12\x34\x81\x80\0\0\0\0\0\0\0\0"), None, "no question");
    }

    proptest! {
        #[test]
        fn no_message_is_read_past_its_end(
            head in 0..=40_usize,
            tail in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let good = message(0x8180, 3, &[ALIAS, ADDRESS, ADDRESS].concat());
            let mut bytes = good[..head.min(good.len())].to_vec();
            bytes.extend(tail);
            if let Some(DnsReply::Addresses(found)) = ASKED.reply(&bytes) {
                // Each address needs the bytes of a record.
                prop_assert!(found.len() * 15 <= bytes.len());
            }
        }
    }
}
