use std::fs;

use super::*;

/// A folder with (empty) files.
fn folder(files: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for file in files {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, b"").unwrap();
    }
    root
}

fn names(list: &ImageList) -> Vec<String> {
    (0..list.len()).map(|i| list.name(i)).collect()
}

fn text(strings: &[&str]) -> Vec<String> {
    strings.iter().map(|s| s.to_string()).collect()
}

#[test]
fn a_folder_is_read_recursively_in_the_order_of_joined_names() {
    let root = folder(&[
        "b/1.JPG",
        "b/10.jpeg",
        "b/2.Png",
        "a.webp",
        "a/z.tif",
        "a-b/x.gif",
        "a/deep/er/y.TIFF",
        "c.bmp",
        "notes.txt",
        "b/readme",
        ".hidden.jpg",
        ".cache/x.jpg",
        "b/._1.jpg",
    ]);
    let list = list(root.path(), None).unwrap();
    // '-' < '.' < '/' as bytes, so `a-b/…` and `a.webp` come before `a/…`.
    let expected = [
        "a-b/x.gif",
        "a.webp",
        "a/deep/er/y.TIFF",
        "a/z.tif",
        "b/1.JPG",
        "b/10.jpeg",
        "b/2.Png",
        "c.bmp",
    ];
    assert_eq!(names(&list), expected);
    assert_eq!(
        list.full_path(2),
        root.path().join("a").join("deep").join("er").join("y.TIFF")
    );
}

#[test]
fn a_folder_without_images_is_an_error_that_says_what_an_image_is() {
    let root = folder(&["notes.txt"]);
    let error = list(root.path(), None).unwrap_err();
    assert!(matches!(error, ListError::NoImages { .. }));
    assert!(error.hint().unwrap().contains("webp"));
    let absent = list(&root.path().join("absent"), None).unwrap_err();
    assert!(matches!(absent, ListError::Unreadable { .. }));
}

#[test]
#[cfg(unix)]
fn loops_of_links_end_and_no_folder_is_read_twice() {
    use std::os::unix::fs::symlink;
    let outside = folder(&["o.png"]);
    let root = folder(&["a/1.png", "b/2.png"]);
    let at = |name: &str| root.path().join(name);
    symlink("..", at("a/up")).unwrap();
    symlink("../b", at("a/to-b")).unwrap();
    symlink("../a", at("b/to-a")).unwrap();
    symlink(root.path(), at("self")).unwrap();
    symlink(outside.path(), at("z-outside")).unwrap();
    symlink(outside.path(), at("y-outside")).unwrap();
    symlink(outside.path().join("o.png"), at("b/linked.png")).unwrap();
    symlink("nowhere.png", at("broken.png")).unwrap();
    let expected = [
        "a/1.png",
        "b/2.png",
        "b/linked.png",
        "broken.png",
        "y-outside/o.png",
    ];
    assert_eq!(names(&list(root.path(), None).unwrap()), expected);
}

#[test]
fn a_single_image_is_a_list_of_one() {
    let root = folder(&["x/one.PNG"]);
    let path = root.path().join("x/one.PNG");
    let list = list(&path, None).unwrap();
    assert_eq!(names(&list), ["one.PNG"]);
    assert_eq!(list.full_path(0), path);
    assert_eq!(folder_of(Path::new("one.png")), Path::new("."));
}

#[test]
fn a_list_is_read_with_labels_skipped() {
    let root = folder(&["b.jpg", "a b.jpg", "sub/c.jpg", "d 7"]);
    let outside = folder(&["o.jpg"]);
    let absolute = outside.path().join("o.jpg");
    let lines = format!(
        "\u{feff}# a comment\r\n\r\n./b.jpg\r\na b.jpg\nsub//c.jpg  3\n  b.jpg 0 \nd 7\n{}\n{} cat\n",
        root.path().join("sub/c.jpg").display(),
        absolute.display(),
    );
    let path = root.path().join("list.txt");
    fs::write(&path, lines).unwrap();
    let list = list(&path, None).unwrap();
    // `d 7` exists as it stands; b.jpg and sub/c.jpg are listed twice and counted once.
    assert_eq!(
        names(&list),
        [&slashed(&absolute), "a b.jpg", "b.jpg", "d 7", "sub/c.jpg"]
    );
    assert_eq!(list.full_path(0), absolute);
}

#[test]
fn missing_paths_of_a_list_are_reported_together() {
    let root = folder(&["a.jpg"]);
    let path = root.path().join("list");
    // One that is there makes it a list; the others are for the survey to report.
    fs::write(&path, "a.jpg\nb c.jpg cat\n# x\nc\n").unwrap();
    let found = list(&path, None).unwrap();
    assert_eq!(names(&found), ["a.jpg", "b c.jpg", "c"]);
    let survey = crate::images::survey(&found, &|_, _| {});
    assert_eq!(survey.bad.len(), 3, "a.jpg is there, but empty");
    assert_eq!(
        survey.bad[1].reason.to_string(),
        "cannot be read: there is no such file"
    );

    fs::write(&path, "d.jpg\nb.jpg cat\n# x\nc.jpg\n").unwrap();
    let error = list(&path, None).unwrap_err();
    let ListError::Missing { lines, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(
        lines,
        &[
            (1, "d.jpg".to_string()),
            (2, "b.jpg cat".to_string()),
            (4, "c.jpg".to_string())
        ]
    );
    let message = error.to_string();
    assert!(
        message.starts_with("none of the 3 listed images exists: "),
        "{message}"
    );
    assert!(
        message.ends_with("\n  line 1: d.jpg\n  line 2: b.jpg cat\n  line 4: c.jpg"),
        "{message}"
    );

    let many: String = (0..50).map(|i| format!("{i}.jpg\n")).collect();
    fs::write(&path, many).unwrap();
    assert!(
        list(&path, None)
            .unwrap_err()
            .to_string()
            .ends_with("\n  and 30 more")
    );
}

#[test]
fn a_binary_file_is_no_list() {
    let root = folder(&[]);
    let path = root.path().join("model.bin");
    fs::write(&path, [0xff, 0xfe, 0]).unwrap();
    assert!(matches!(list(&path, None), Err(ListError::NotAList { .. })));
}

#[test]
fn labels_are_class_folders() {
    let root = folder(&["mug/1.png", "bike/deep/2.png", "bike/1.png", "mug/0.png"]);
    let list = labelled(root.path(), None, Side::Both, None).unwrap();
    assert_eq!(list.classes, ["bike", "mug"]);
    assert_eq!(
        names(&list.images),
        ["bike/1.png", "bike/deep/2.png", "mug/0.png", "mug/1.png"]
    );
    assert_eq!(list.labels, [0, 0, 1, 1]);
}

#[test]
fn an_image_outside_all_class_folders_is_an_error() {
    let root = folder(&["mug/1.png", "b.png", "a.png"]);
    let error = labelled(root.path(), None, Side::Both, None).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("2 images are in no class folder, such as a.png: ")
    );
    assert!(error.hint().unwrap().contains("name of its class"));
}

#[test]
fn classes_can_be_selected_in_an_order() {
    let root = folder(&["mug/1.png", "bike/1.png", "pen/1.png"]);
    let select = |names: &[&str]| labelled(root.path(), None, Side::Both, Some(&text(names)));
    let list = select(&["pen", "bike"]).unwrap();
    assert_eq!(list.classes, ["pen", "bike"]);
    assert_eq!(names(&list.images), ["bike/1.png", "pen/1.png"]);
    assert_eq!(list.labels, [1, 0]);

    let error = select(&["pan", "bike", "xylophone"])
        .unwrap_err()
        .to_string();
    let expected = "there is no class `pan` (nearest: pen); there is no class `xylophone`: ";
    assert!(error.starts_with(expected), "{error}");
    assert!(matches!(
        select(&["pen", "pen"]),
        Err(ListError::RepeatedClass { .. })
    ));
}

#[test]
fn labels_of_a_list_are_the_last_words() {
    let root = folder(&["a b.jpg", "c.jpg", "d.jpg"]);
    let path = root.path().join("list.txt");
    let read = |lines: &str| {
        fs::write(&path, lines).unwrap();
        labelled(&path, None, Side::Both, None)
    };
    let list = read("d.jpg\tcat\na b.jpg   dog\nc.jpg cat\nc.jpg cat\n").unwrap();
    assert_eq!(list.classes, ["cat", "dog"]);
    assert_eq!(names(&list.images), ["a b.jpg", "c.jpg", "d.jpg"]);
    assert_eq!(list.labels, [1, 0, 0]);

    let bare = read("c.jpg cat\nd.jpg\n").unwrap_err();
    assert!(bare.to_string().ends_with("\n  line 2: d.jpg"), "{bare}");
    // A label is a label, wherever its image has gone.
    assert_eq!(names(&read("x.jpg cat\n").unwrap().images), ["x.jpg"]);
    let two = read("c.jpg cat\nc.jpg dog\n").unwrap_err();
    assert!(
        two.to_string().starts_with("labelled both `cat` and `dog`"),
        "{two}"
    );
    let single = labelled(&root.path().join("c.jpg"), None, Side::Both, None);
    assert!(matches!(single, Err(ListError::SingleImage { .. })));
}

#[test]
fn a_split_selects_class_folders() {
    let files: Vec<String> = (0..31).map(|i| format!("class_{i:02}/x.png")).collect();
    let root = folder(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let split = Some(Split::Office31Paper);
    let unlabelled = list(root.path(), split).unwrap();
    let expected: Vec<_> = files[..10].iter().chain(&files[20..]).cloned().collect();
    assert_eq!(names(&unlabelled), expected);

    let known = labelled(root.path(), split, Side::Known, None).unwrap();
    assert_eq!(names(&known.images), files[..10]);
    assert_eq!(known.labels, (0..10).collect::<Vec<_>>());
    let both = labelled(root.path(), split, Side::Both, None).unwrap();
    assert_eq!(names(&both.images), expected);
    assert_eq!(both.classes[10], "class_20");

    let path = root.path().join("list.txt");
    fs::write(&path, "class_00/x.png\n").unwrap();
    assert!(matches!(
        list(&path, split),
        Err(ListError::SplitNeedsFolder { .. })
    ));
    assert!(matches!(
        labelled(&path, split, Side::Both, None),
        Err(ListError::SplitNeedsFolder { .. })
    ));
}

#[cfg(unix)]
#[test]
fn names_that_are_no_unicode_stay_apart() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let root = tempfile::tempdir().unwrap();
    for name in [&b"a\xff.png"[..], b"a\xfe.png", "a\u{fffd}.png".as_bytes()] {
        fs::write(root.path().join(OsStr::from_bytes(name)), "x").unwrap();
    }
    let list = list(root.path(), None).unwrap();
    assert_eq!(names(&list), ["a\\xfe.png", "a\\xff.png", "a\u{fffd}.png"]);
}
