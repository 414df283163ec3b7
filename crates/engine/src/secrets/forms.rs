//! The forms in which a secret's value occurs: as it is, escaped for JSON, percent-encoded.
//!
//! Programs escape differently, so each of the two has several spellings:
//!
//! - JSON with characters beyond ASCII as they are or as `\u00e9`, with `/` or `\/`, and with `<`
//!   or `\u003c` if the text is made safe for HTML.
//! - Percent-encoding with upper or lower case digits, with a space as `%20` or `+`, and with
//!   different sets of unescaped characters: only RFC 3986's unreserved ones, those of a path, or
//!   those that browsers keep in a part of an address or in all of it.

/// Every form, without repetition.
pub(super) fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    for escaped in ESCAPED_IN_JSON {
        for is_ascii in [false, true] {
            for digits in [LOWER, UPPER] {
                let text = in_json(value, escaped, is_ascii, digits);
                forms.push(text.replace('/', "\\/"));
                forms.push(text);
            }
        }
    }
    for kept in [UNRESERVED, KEPT_IN_PATHS, KEPT_IN_PARTS, KEPT_IN_ADDRESSES] {
        for digits in [LOWER, UPPER] {
            let encoded = percent_encoded(value, kept, digits);
            forms.push(encoded.replace("%20", "+"));
            forms.push(encoded);
        }
    }
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// Characters that JSON writers escape as `\u00XX` without need: none; Go, Rails and PHP by its
/// flags; Gson; .NET.
const ESCAPED_IN_JSON: [&str; 9] =
    ["", "<>", "&", "'", "&<>", "&<>'", "&<>'=", "&<>'\"", "&<>'\"+`"];

const UNRESERVED: &[u8] = b"-._~";
const KEPT_IN_PATHS: &[u8] = b"-._~/";
/// The set of `encodeURIComponent`.
const KEPT_IN_PARTS: &[u8] = b"-._~!'()*";
/// The set of `encodeURI`.
const KEPT_IN_ADDRESSES: &[u8] = b"-._~!'()*;/?:@&=+$,#";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// JSON text with these characters as `\uXXXX`, and with `is_ascii` all beyond ASCII too.
fn in_json(value: &str, escaped: &str, is_ascii: bool, digits: &[u8; 16]) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        if !escaped.contains(character) && (character.is_ascii() || !is_ascii) {
            let quoted = serde_json::Value::from(String::from(character)).to_string();
            text.push_str(&quoted[1..quoted.len() - 1]);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            text.push_str("\\u");
            for shift in [12, 8, 4, 0] {
                text.push(char::from(digits[usize::from(*unit >> shift & 15)]));
            }
        }
    }
    text
}

/// Everything except letters, digits and the `kept` bytes, as `%XX`.
fn percent_encoded(value: &str, kept: &[u8], digits: &[u8; 16]) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(digits[usize::from(byte >> 4)]));
            text.push(char::from(digits[usize::from(byte & 15)]));
        }
    }
    text
}

/// A value inside an address: everything is percent-encoded except RFC 3986's unreserved
/// characters.
pub(crate) fn for_url(value: &str) -> String {
    percent_encoded(value, UNRESERVED, UPPER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_value_has_one_form() {
        assert_eq!(forms("sk-live_0123456789"), ["sk-live_0123456789"]);
    }

    #[test]
    fn json_that_is_made_safe_for_html_is_known() {
        let forms = forms("a&b<c>'é+\"/");
        for written in [
            r#"a\u0026b\u003cc\u003e'é+\"/"#,
            r#"a\u0026b\u003Cc\u003E'é+\"\/"#,
            r#"a&b\u003Cc\u003E'\u00E9+\"\/"#,
            r#"a\u0026b\u003cc\u003e\u0027é+\"/"#,
            r#"a\u0026b\u003cc\u003e\u0027é+\u0022/"#,
            r#"a\u0026b\u003Cc\u003E\u0027\u00E9\u002B\u0022/"#,
        ] {
            assert!(forms.iter().any(|form| form == written), "{written}");
        }
    }

    #[test]
    fn every_form_in_which_programs_write_a_secret_is_included() {
        let forms = forms("a\"b/c é\\!");
        for written in [
            "a\"b/c é\\!",
            "a\\\"b/c é\\\\!",
            "a\\\"b\\/c é\\\\!",
            "a\\\"b/c \\u00e9\\\\!",
            "a\\\"b/c \\u00E9\\\\!",
            "a%22b%2Fc%20%C3%A9%5C%21",
            "a%22b%2fc%20%c3%a9%5c%21",
            "a%22b%2Fc+%C3%A9%5C%21",
            "a%22b%2Fc%20%C3%A9%5C!",
            "a%22b/c%20%C3%A9%5C%21",
            "a%22b/c%20%C3%A9%5C!",
        ] {
            assert!(forms.iter().any(|form| form == written), "{written}");
        }
    }
}
