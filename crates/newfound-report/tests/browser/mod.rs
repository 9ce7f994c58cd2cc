//! Chromium without a window, driven by its options alone.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A page that takes longer than this, on a busy machine, does not load at all.
const PATIENCE: Duration = Duration::from_secs(120);

/// Where this is set, a test without a browser fails.
const REQUIRED: &str = "NEWFOUND_REQUIRE_CHROMIUM";

/// A browser with a folder of its own.
pub struct Chromium {
    program: PathBuf,
    folder: PathBuf,
}

impl Chromium {
    /// `None`, with a word to the reader, where there is no browser; a failure where one is required.
    pub fn find(test: &str) -> Option<Self> {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let installed = folders
            .iter()
            .flat_map(|folder| names.map(|name| folder.join(name)));
        let Some(program) = named
            .into_iter()
            .chain(installed)
            .find(|path| path.is_file())
        else {
            let message =
                format!("{test} was not run: no Chromium is installed, and CHROMIUM names none");
            assert!(std::env::var_os(REQUIRED).is_none(), "{message}");
            // Not println!, which is only shown for a test that fails.
            writeln!(std::io::stderr(), "{message}").expect("a place to complain to");
            return None;
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
        std::fs::create_dir_all(&folder).expect("a folder for the test");
        Some(Self { program, folder })
    }

    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("the page can be written");
        format!("file://{}", path.display())
    }

    /// Runs the browser on a page, without any network.
    fn run(&self, options: &[&str], page: &str) -> Output {
        let profile = format!("--user-data-dir={}", self.folder.join("profile").display());
        let output = self.folder.join("stdout");
        let errors = self.folder.join("stderr");
        let file =
            |path: &Path| Stdio::from(std::fs::File::create(path).expect("a file for the output"));
        let mut browser = Command::new(&self.program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                &profile,
            ])
            .args([
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--enable-logging=stderr",
            ])
            .args(options)
            .arg(page)
            .stdout(file(&output))
            .stderr(file(&errors))
            .spawn()
            .expect("the browser starts");
        let start = Instant::now();
        let status = loop {
            match browser.try_wait().expect("the browser can be asked") {
                Some(status) => break status,
                None if start.elapsed() > PATIENCE => {
                    browser.kill().expect("the browser can be ended");
                    panic!("the browser took more than {PATIENCE:?}");
                }
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        let read = |path: &Path| std::fs::read(path).expect("what the browser said");
        Output {
            status,
            stdout: read(&output),
            stderr: read(&errors),
        }
    }

    /// The page after loading, as text.
    pub fn dom(&self, options: &[&str], page: &str) -> (String, String) {
        let options: Vec<&str> = options.iter().copied().chain(["--dump-dom"]).collect();
        let Output {
            status,
            stdout,
            stderr,
        } = self.run(&options, page);
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        assert!(status.success(), "{}", text(&stderr));
        (text(&stdout), text(&stderr))
    }

    /// What a script finds out about a page that may run none itself, in a frame of this width: a line
    /// for each question, `name=answer`.
    pub fn measure(&self, page: &str, width: usize, script: &str) -> String {
        self.measure_in(
            "sandbox=\"allow-same-origin allow-forms\"",
            page,
            width,
            script,
        )
    }

    /// [`measure`](Self::measure), of a page that may run its own script.
    pub fn measure_scripted(&self, page: &str, width: usize, script: &str) -> String {
        self.measure_in("", page, width, script)
    }

    fn measure_in(&self, sandbox: &str, page: &str, width: usize, script: &str) -> String {
        let framed = self.write("framed.html", page);
        // The first picture of the page is loaded beside it: a script that waited for one would use up
        // its time.
        let picture = page
            .split("url(")
            .nth(1)
            .and_then(|rest| rest.split(')').next());
        let picture = picture.unwrap_or("data:");
        let wrapper = format!(
            "<!DOCTYPE html><iframe {sandbox} src=\"{framed}\" style=\"width:{width}px;height:800px;border:0\"></iframe>\
             <img src=\"{picture}\"><pre></pre><script>onload = async () => {{\
             const frame = document.querySelector('iframe'), page = frame.contentDocument, picture = document.querySelector('img');\
             const say = (name, answer) => document.querySelector('pre').append(name + '=' + answer + '\\n');\
             const style = (element) => frame.contentWindow.getComputedStyle(element);\
             {script} say('done', true); }}</script>"
        );
        let url = self.write("wrapper.html", &wrapper);
        let (dom, errors) = self.dom(
            &[
                // One file may look into another.
                "--allow-file-access-from-files",
                "--virtual-time-budget=10000",
                "--window-size=1400,900",
            ],
            &url,
        );
        let answers = dom
            .rsplit_once("<pre>")
            .and_then(|(_, rest)| rest.split_once("</pre>"))
            .expect("answers")
            .0;
        assert!(
            answers.contains("done=true"),
            "the script failed: {answers}{errors}"
        );
        answers.to_owned()
    }

    /// Width and height of a photograph of the page, and its size in bytes: one of nothing takes next
    /// to none.
    pub fn photograph(&self, width: u32, page: &str) -> (u32, u32, usize) {
        let path = self.folder.join(format!("{width}.png"));
        let (file, size) = (
            format!("--screenshot={}", path.display()),
            format!("--window-size={width},1600"),
        );
        let output = self.run(&[&file, &size], page);
        let bytes = std::fs::read(&path)
            .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
        let number =
            |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        (number(16), number(20), bytes.len())
    }

    /// The page as a PDF file.
    pub fn print(&self, page: &str) -> Vec<u8> {
        let path = self.folder.join("page.pdf");
        self.run(&[&format!("--print-to-pdf={}", path.display())], page);
        std::fs::read(&path).expect("a PDF file")
    }
}

/// The answer to one of the questions of [`Chromium::measure`].
pub fn answer<'a>(answers: &'a str, name: &str) -> &'a str {
    let mut lines = answers.lines();
    let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("{name} is not in {answers}"))
}
