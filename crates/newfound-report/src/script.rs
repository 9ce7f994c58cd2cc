//! The few lines of script that the page has, and the promise about them.

use maud::{Markup, PreEscaped, html};

const SCRIPT: &str = include_str!("script.js");

/// The browser runs a script of exactly this SHA-256, and no other: one that a name smuggled in is
/// refused. After a change: `openssl dgst -sha256 -binary script.js | base64`; the tests in Chromium
/// fail until it is right.
pub const HASH: &str = "sha256-jrOTxDY4OcZqY/B3premY/TL7CGkzno+8rrd+1GgpYs=";

/// Keys for the large views. Whoever forbids scripts loses nothing else.
pub fn script() -> Markup {
    html! { script { (PreEscaped(SCRIPT)) } }
}
