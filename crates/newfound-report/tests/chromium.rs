//! The page as a browser sees it: loaded, measured, used, photographed and printed by Chromium.
//!
//! Where no Chromium is installed these tests say so and pass; `CHROMIUM` names one that is not on
//! the path, and with `NEWFOUND_REQUIRE_CHROMIUM` they fail without one.

use browser::{Chromium, answer};
use newfound_report::*;

mod browser;

#[path = "../src/example/mod.rs"]
mod example;

const HOSTILE: &str = "<script>alert(1)</script>";

/// The example, with names that try to become elements.
fn hostile() -> Report {
    let mut report = example::report();
    report.classes[0].name = HOSTILE.to_owned();
    report.images[0].path = format!("{HOSTILE}/<img src=x onerror=alert(1)>.png");
    report.overview.images = HOSTILE.to_owned();
    report
}

#[test]
fn it_loads_without_a_network_and_names_stay_text() {
    let Some(chromium) = Chromium::find("loads") else {
        return;
    };
    for (page, scripts) in [
        (render(&hostile()), 1),
        (render_comparison(&example::comparison()), 0),
    ] {
        let (dom, errors) = chromium.dom(&[], &chromium.write("page.html", &page));
        let found = dom.matches("<script").count();
        assert_eq!(found, scripts, "a name became a script");
        assert!(!dom.contains("<img"), "a name became a picture");
        assert!(dom.trim_end().ends_with("</html>"));
        // The page's own policy forbids nothing that the page itself does.
        assert!(
            !errors.contains("Refused to") && !errors.contains("Content Security Policy"),
            "{errors}"
        );
    }
    let (dom, _) = chromium.dom(&[], &chromium.write("page.html", &render(&hostile())));
    assert!(dom.contains(
        "What was found in <bdi class=\"name\">&lt;script&gt;alert(1)&lt;/script&gt;</bdi>"
    ));
}

#[test]
fn nothing_is_wider_than_a_phone_and_every_link_leads_somewhere() {
    let Some(chromium) = Chromium::find("phone") else {
        return;
    };
    let mut long = hostile();
    long.classes[2].name = "a-very-long-name_".repeat(30);
    long.images[1].path = "x".repeat(400);
    let pages = [
        render(&long),
        render(&example::large(500, 12, 8, 8)),
        render_comparison(&example::comparison()),
    ];
    for page in pages {
        let answers = chromium.measure(
            &page,
            390,
            "say('width', page.documentElement.scrollWidth);\
             const ids = new Set([...page.querySelectorAll('[id]')].map((element) => element.id));\
             const links = [...page.querySelectorAll('[href], [popovertarget]')];\
             const target = (link) => link.getAttribute('popovertarget') ?? link.getAttribute('href').slice(1);\
             say('links', links.length);\
             say('broken', links.map(target).filter((id) => !ids.has(id)).join());\
             const view = page.querySelector('.view');\
             if (view) frame.contentWindow.location.hash = view.id;\
             say('view', view ? view.scrollWidth : 0);",
        );
        assert_eq!(answer(&answers, "width"), "390");
        assert_ne!(answer(&answers, "links"), "0");
        assert_eq!(answer(&answers, "broken"), "");
        assert!(answer(&answers, "view").parse::<usize>().expect("a width") <= 390);
    }
}

#[test]
fn images_open_large_and_the_legend_hides_classes() {
    let Some(chromium) = Chromium::find("use") else {
        return;
    };
    let answers = chromium.measure(
        &render(&example::report()),
        1280,
        "const shown = (selector) => style(page.querySelector(selector)).display;\
         const click = async (selector) => { page.querySelector(selector).click(); await new Promise((done) => setTimeout(done, 100)); };\
         say('closed', shown('#i5'));\
         await click('.card a[href=\"#i5\"]');\
         say('open', shown('#i5'));\
         await click('#i5 a[href=\"#i6\"]');\
         say('neighbour', shown('#i5') + ' ' + shown('#i6'));\
         await click('#i6 a[href=\"#page\"]');\
         say('again', shown('#i6'));\
         say('picture', picture.naturalWidth + ' ' + style(page.querySelector('.card .p0')).backgroundImage.includes(picture.src));\
         say('mark', shown('.points path.k0') + ' ' + shown('.points div.k0'));\
         await click('#k0');\
         say('hidden', shown('.points path.k0') + ' ' + shown('.points div.k0') + ' ' + shown('.points div.k4'));\
         const colour = () => style(page.querySelector('.points path.k4')).fill;\
         const byClass = colour();\
         await click('#by-truth');\
         say('truth', shown('.points div.k0') + ' ' + shown('.by-class') + ' ' + shown('.by-truth') + ' ' + shown('.classes') + ' ' + shown('.truths'));\
         await click('#by-kind');\
         say('kind', colour() !== byClass);\
         await click('.map button');\
         say('reset', shown('.points div.k0') + ' ' + (colour() === byClass));",
    );
    assert_eq!(answer(&answers, "closed"), "none");
    assert_eq!(answer(&answers, "open"), "grid");
    assert_eq!(answer(&answers, "neighbour"), "none grid");
    assert_eq!(answer(&answers, "again"), "none");
    assert_eq!(answer(&answers, "picture"), "16 true");
    assert_eq!(answer(&answers, "mark"), "inline block");
    assert_eq!(answer(&answers, "hidden"), "none none block");
    assert_eq!(answer(&answers, "truth"), "block none block none block");
    assert_eq!(answer(&answers, "kind"), "true");
    assert_eq!(answer(&answers, "reset"), "block true");
}

#[test]
fn keys_walk_through_the_images_and_close_them() {
    let Some(chromium) = Chromium::find("keys") else {
        return;
    };
    let answers = chromium.measure_scripted(
        &render(&example::report()),
        1280,
        "const pause = () => new Promise((done) => setTimeout(done, 100));\
         const press = async (key) => { frame.contentWindow.dispatchEvent(new frame.contentWindow.KeyboardEvent('keydown', { key })); await pause(); };\
         const link = page.querySelector('.card a.p');\
         link.focus(); link.click(); await pause();\
         const shown = () => page.querySelector('.view:target')?.id ?? 'none';\
         const first = shown();\
         say('opened', first !== 'none');\
         say('focus', page.activeElement.textContent);\
         await press('ArrowRight');\
         say('next', shown() !== first && shown() !== 'none');\
         await press('ArrowLeft');\
         say('back', shown() === first);\
         await press('\"]');\
         await press('Escape');\
         say('closed', shown());\
         say('returned', page.activeElement === link);",
    );
    assert_eq!(answer(&answers, "opened"), "true");
    assert_eq!(answer(&answers, "focus"), "Close");
    assert_eq!(answer(&answers, "next"), "true");
    assert_eq!(answer(&answers, "back"), "true");
    assert_eq!(answer(&answers, "closed"), "none");
    assert_eq!(answer(&answers, "returned"), "true");
}

#[test]
fn screenshots_show_something_at_desktop_and_phone_width() {
    let Some(chromium) = Chromium::find("screenshots") else {
        return;
    };
    let page = chromium.write("page.html", &render(&hostile()));
    let blank = chromium.write("blank.html", "<body style=\"background:#faf9f6\">");
    for width in [1280, 390] {
        let (_, _, nothing) = chromium.photograph(width, &blank);
        let (wide, high, bytes) = chromium.photograph(width, &page);
        assert_eq!((wide, high), (width, 1600));
        assert!(
            bytes > 10 * nothing,
            "{bytes} bytes, and {nothing} for a blank page"
        );
    }
}

#[test]
fn it_prints() {
    let Some(chromium) = Chromium::find("prints") else {
        return;
    };
    let page = chromium.write("page.html", &render(&hostile()));
    let bytes = chromium.print(&page);
    assert!(bytes.starts_with(b"%PDF-"));
    let text = String::from_utf8_lossy(&bytes);
    let pages = text.matches("/Type /Page\n").count();
    assert!((3..=12).contains(&pages), "{pages} pages");
}
