//! Which pieces belong to which call.

use serde_json::json;

use super::*;

/// Id, name and arguments.
type Call<'a> = (&'a str, &'a str, &'a str);

/// Ids, names and arguments of the calls that these chunks make.
fn calls(chunks: &[Value]) -> Vec<(String, String, String)> {
    let mut pieces = ToolCallPieces::default();
    for chunk in chunks {
        pieces.push(chunk);
    }
    let calls = pieces.finish().into_iter();
    calls.map(|call| (call.id, call.name, call.arguments)).collect()
}

fn expected(calls: &[Call<'_>]) -> Vec<(String, String, String)> {
    let owned = |text: &&str| (*text).to_owned();
    calls.iter().map(|(id, name, text)| (owned(id), owned(name), owned(text))).collect()
}

fn piece(index: Value, id: Value, name: Value, arguments: Value) -> Value {
    json!({ "index": index, "id": id, "type": "function",
        "function": { "name": name, "arguments": arguments } })
}

#[test]
fn pieces_become_calls_however_a_server_numbers_them() {
    let null = || Value::Null;
    let (a, b) = (r#"{"k":"}{"}"#, r#"{"k":["\"]"]}"#);
    let two = [("a", "x", a), ("b", "y", b)];
    let cases: Vec<(&str, Vec<Value>, Vec<Call<'_>>)> = vec![
        (
            "as the vendor does",
            vec![
                json!([piece(json!(0), json!("a"), json!("x"), json!(""))]),
                json!([piece(json!(0), null(), null(), json!(&a[..4]))]),
                json!([piece(json!(0), null(), null(), json!(&a[4..]))]),
                json!([piece(json!(1), json!("b"), json!("y"), json!(b))]),
            ],
            two.to_vec(),
        ),
        (
            "indexes out of order and pieces that take turns",
            vec![
                json!([piece(json!(7), json!("b"), json!("y"), json!(&b[..3]))]),
                json!([piece(json!(3), json!("a"), json!("x"), json!(&a[..3]))]),
                json!([
                    piece(json!(7), null(), null(), json!(&b[3..])),
                    piece(json!(3), null(), null(), json!(&a[3..]))
                ]),
            ],
            two.to_vec(),
        ),
        (
            "one index for all calls, told apart by ids",
            vec![
                json!([piece(json!(0), json!("a"), json!("x"), json!(a))]),
                json!([piece(json!(0), json!("b"), json!("y"), json!(&b[..3]))]),
                json!([piece(json!(0), json!("b"), null(), json!(&b[3..]))]),
            ],
            two.to_vec(),
        ),
        (
            "one index, and pieces that take turns",
            vec![
                json!([piece(json!(0), json!("a"), json!("x"), json!(&a[..3]))]),
                json!([piece(json!(0), json!("b"), json!("y"), json!(b))]),
                json!([piece(json!(0), json!("a"), null(), json!(&a[3..]))]),
            ],
            two.to_vec(),
        ),
        (
            "no index, all calls in one chunk",
            vec![json!([
                piece(null(), json!("a"), json!("x"), json!(a)),
                piece(null(), json!("b"), json!("y"), json!(b))
            ])],
            two.to_vec(),
        ),
        (
            "no index, one call a chunk",
            vec![
                json!([piece(null(), json!("a"), json!("x"), json!(a))]),
                json!([piece(null(), json!("b"), json!("y"), json!(b))]),
            ],
            two.to_vec(),
        ),
        (
            "neither ids nor indexes: a name behind complete arguments begins a call",
            vec![
                json!([piece(null(), null(), json!("x"), json!(&a[..3]))]),
                json!([piece(null(), null(), null(), json!(&a[3..]))]),
                json!([piece(null(), null(), json!("x"), json!(a))]),
            ],
            vec![("", "x", a), ("", "x", a)],
        ),
        (
            "neither ids nor indexes, and the arguments come behind the name",
            vec![
                json!([piece(null(), null(), json!("x"), json!(""))]),
                json!([piece(null(), null(), null(), json!(a))]),
                json!([piece(null(), null(), json!("x"), json!(""))]),
                json!([piece(null(), null(), null(), json!(b))]),
            ],
            vec![("", "x", a), ("", "x", b)],
        ),
        (
            "id and name come with every piece",
            vec![
                json!([piece(json!(0), json!("a"), json!("x"), json!(""))]),
                json!([piece(json!(0), json!("a"), json!("x"), json!(&a[..3]))]),
                json!([piece(json!(0), json!("a"), json!("x"), json!(&a[3..]))]),
                json!([piece(json!(0), json!("a"), json!("x"), json!(""))]),
            ],
            vec![("a", "x", a)],
        ),
        (
            "one id for two calls of one index",
            vec![
                json!([piece(json!(0), json!("a"), json!("x"), json!(a))]),
                json!([piece(json!(0), json!("a"), json!("x"), json!(b))]),
            ],
            vec![("a", "x", a), ("a", "x", b)],
        ),
        (
            "calls without arguments",
            vec![
                json!([piece(json!(0), null(), json!("x"), null())]),
                json!([piece(json!(0), null(), json!("y"), null())]),
            ],
            vec![("", "x", ""), ("", "y", "")],
        ),
        (
            "an id that comes late, and arguments that are no text",
            vec![
                json!([piece(json!(0), null(), json!("x"), json!(""))]),
                json!([piece(json!(0), json!("a"), null(), json!({ "k": 1 }))]),
            ],
            vec![("a", "x", r#"{"k":1}"#)],
        ),
        (
            "one object in place of a list, and an index that is none",
            vec![piece(json!(-1), json!("a"), json!("x"), json!(a))],
            vec![("a", "x", a)],
        ),
        ("nothing", vec![null(), json!([]), json!("x"), json!(3)], vec![]),
    ];
    for (what, chunks, wanted) in cases {
        assert_eq!(calls(&chunks), expected(&wanted), "{what}");
    }
}
