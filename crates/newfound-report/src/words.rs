//! Numbers and names as people read them.

use maud::{Markup, html};

/// What stands where there is no figure.
pub const ABSENT: &str = "–";

/// A whole number with its thousands set apart: `5,000`.
pub fn count(n: usize) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with its noun: `1 image`, `5,000 images`. The space does not break.
pub fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{}\u{a0}{}", count(n), if n == 1 { one } else { many })
}

/// A number with a fixed count of decimals, so that a column of them is aligned.
pub fn decimal(value: f64, decimals: usize) -> String {
    if !value.is_finite() {
        return ABSENT.to_owned();
    }
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        // A negative number that rounds to nought has no sign left to show.
        Some(digits) if digits.bytes().all(|b| matches!(b, b'0' | b'.')) => digits.to_owned(),
        // The minus sign is as wide as a digit; the hyphen is not.
        Some(digits) => format!("−{digits}"),
        None => text,
    }
}

/// [`decimal`], or a dash where there is no figure.
pub fn decimal_or_dash(value: Option<f64>, decimals: usize) -> String {
    decimal(value.unwrap_or(f64::NAN), decimals)
}

/// A share of one in percent: `0.93` is `93 %`. The space does not break.
pub fn percent(share: f64) -> String {
    if share.is_finite() {
        format!("{}\u{a0}%", decimal(100.0 * share, 0))
    } else {
        ABSENT.to_owned()
    }
}

/// [`percent`], or a dash where there is no figure.
pub fn percent_or_dash(share: Option<f64>) -> String {
    percent(share.unwrap_or(f64::NAN))
}

/// A name from outside, isolated so that its writing direction cannot reorder the text around it.
pub fn name(raw: &str) -> Markup {
    html! { bdi.name { (visible(raw)) } }
}

/// A name with every character that would hide or disguise something replaced by one that shows.
///
/// A file may well be called `cat<newline>.jpg`, or use U+202E to make `gpj.exe` look like a picture.
/// Escaping is not done here: markup does it.
pub fn visible(raw: &str) -> String {
    let shown = |c: char| match c {
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f'..='\u{9f}' | '\u{200e}' | '\u{200f}' => '\u{fffd}',
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ => c,
    };
    raw.chars().map(shown).collect()
}

/// `a`, `a and b`, `a, b and c`, with each name isolated.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> Markup {
    let names: Vec<&str> = names.into_iter().collect();
    html! {
        @for (i, raw) in names.iter().enumerate() {
            @if i > 0 { @if i + 1 == names.len() { " and " } @else { ", " } }
            (name(raw))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
    }

    #[test]
    fn one_is_singular_and_nought_is_not() {
        assert_eq!(counted(0, "class", "classes"), "0\u{a0}classes");
        assert_eq!(counted(1, "class", "classes"), "1\u{a0}class");
        assert_eq!(counted(2, "class", "classes"), "2\u{a0}classes");
    }

    #[test]
    fn decimals_are_honest_about_sign_and_absence() {
        assert_eq!(decimal(-2.875, 2), "−2.88");
        assert_eq!(decimal(-0.001, 2), "0.00");
        assert_eq!(decimal(f64::NAN, 2), ABSENT);
        assert_eq!(decimal(f64::INFINITY, 2), ABSENT);
        assert_eq!(decimal_or_dash(None, 1), ABSENT);
        assert_eq!(percent(0.934), "93\u{a0}%");
        assert_eq!(percent_or_dash(Some(f64::NAN)), ABSENT);
    }

    #[test]
    fn nothing_in_a_name_stays_hidden() {
        assert_eq!(visible("a\nb\0c\u{1b}[0m"), "a␊b␀c␛[0m");
        assert_eq!(visible("\u{202e}gpj.exe"), "\u{fffd}gpj.exe");
        assert_eq!(visible("Überraschung 猫"), "Überraschung 猫");
    }

    #[test]
    fn lists_read_as_english() {
        let text = |names: &[&str]| listed(names.iter().copied()).into_string();
        assert_eq!(text(&[]), "");
        assert_eq!(text(&["<a>"]), r#"<bdi class="name">&lt;a&gt;</bdi>"#);
        let three = text(&["a", "b", "c"])
            .replace(r#"<bdi class="name">"#, "")
            .replace("</bdi>", "");
        assert_eq!(three, "a, b and c");
    }
}
