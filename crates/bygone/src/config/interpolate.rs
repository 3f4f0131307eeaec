//! `${VAR}`, `${VAR:-default}`, `${file:path}` and `$$` in string values.
//!
//! Credentials belong in the environment or in mounted files, not in the
//! configuration. What is filled in is therefore taken for a secret: it is
//! never looked at again for placeholders, and no message repeats it. Every
//! `$` that is not one of the four forms is refused, because a variable that
//! silently stays a piece of text would name the wrong schema or table.

use std::ffi::OsString;
use std::path::Path;

use super::error::{Code, Problem};
use super::read_bounded;

/// The most that is read of a file named by `${file:…}`.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Where variables come from.
///
/// Injected, so that tests need not change the process.
pub(crate) trait Env {
    /// The variable's value, or `None` if it is not set.
    fn var(&self, name: &str) -> Option<OsString>;
}

/// The environment of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProcessEnv;

impl Env for ProcessEnv {
    fn var(&self, name: &str) -> Option<OsString> {
        std::env::var_os(name)
    }
}

/// A placeholder that cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// The placeholder as written.
    pub(super) placeholder: String,
    pub(super) problem: Problem,
}

/// Fills in every placeholder of `written`, or says what is wrong with each.
pub(super) fn expand(written: &str, base_dir: &Path, env: &dyn Env) -> Result<String, Vec<Failure>> {
    let mut filled = String::new();
    let mut failures: Vec<Failure> = Vec::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        filled.push_str(before);
        let (placeholder, value, tail) = next(after, base_dir, env);
        match value {
            Ok(value) => filled.push_str(&value),
            Err(problem) => {
                let failure = Failure { placeholder, problem };
                // The same variable twice in a value is one thing to mend.
                if !failures.contains(&failure) {
                    failures.push(failure);
                }
            }
        }
        rest = tail;
    }
    filled.push_str(rest);
    if failures.is_empty() { Ok(filled) } else { Err(failures) }
}

/// Reads one placeholder from the text after a `$`: as written, its value,
/// and the text behind it.
fn next<'t>(after: &'t str, base_dir: &Path, env: &dyn Env) -> (String, Result<String, Problem>, &'t str) {
    if let Some(tail) = after.strip_prefix('$') {
        return ("$$".to_owned(), Ok("$".to_owned()), tail);
    }
    let Some(body) = after.strip_prefix('{') else {
        let lone = malformed("a lone `$` means nothing");
        return ("$".to_owned(), Err(lone), after);
    };
    let Some((inner, tail)) = body.split_once('}') else {
        let open = malformed("`${` has no closing `}`");
        return ("${".to_owned(), Err(open), "");
    };
    let placeholder = format!("${{{inner}}}");
    (placeholder, lookup(inner, base_dir, env), tail)
}

/// The value of what stands between `${` and `}`.
fn lookup(inner: &str, base_dir: &Path, env: &dyn Env) -> Result<String, Problem> {
    if inner.contains("${") {
        return Err(malformed("placeholders do not nest"));
    }
    if let Some(path) = inner.strip_prefix("file:") {
        return file(path, base_dir);
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    if !is_variable(name) {
        return Err(malformed("`${…}` does not name a variable"));
    }
    match (env.var(name), default) {
        // As in a shell, `:-` also stands in for a variable that is empty.
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => value.into_string().map_err(|_| {
            Problem::new(Code::BadInterpolation, format!("the environment variable `{name}` is not UTF-8"))
                .help(format!("set `{name}` to text in UTF-8"))
        }),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Problem::new(Code::UnsetVariable, format!("the environment variable `{name}` is not set"))
            .label("needs it")
            .help(format!("set `{name}`, or give a default: `${{{name}:-…}}`"))),
    }
}

fn file(path: &str, base_dir: &Path) -> Result<String, Problem> {
    if path.is_empty() {
        return Err(malformed("`${file:}` does not name a file"));
    }
    let path = base_dir.join(path);
    let mut text = read_bounded(&path, FILE_BYTES_MAX).map_err(|error| {
        Problem::new(Code::UnreadableFile, format!("the file `{}` cannot be read: {error}", path.display()))
            .label("needs it")
            .help("the path is relative to the directory of the configuration file; the file must be text")
    })?;
    // Editors and `echo` end a file with a newline that is no part of the value.
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    Ok(text)
}

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn malformed(message: &str) -> Problem {
    Problem::new(Code::BadInterpolation, message)
        .help("write `${VAR}`, `${VAR:-default}` or `${file:path}`, and `$$` where a dollar sign is meant")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Vars(&'static [(&'static str, &'static str)]);

    impl Env for Vars {
        fn var(&self, name: &str) -> Option<OsString> {
            let found = self.0.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        }
    }

    const VARS: Vars = Vars(&[("USER", "ada"), ("EMPTY", ""), ("_x1", "y"), ("NESTED", "${USER} $$ $")]);

    fn expanded(written: &str) -> String {
        expand(written, Path::new("/nowhere"), &VARS).expect(written)
    }

    fn failures(written: &str) -> Vec<(String, Code)> {
        let failures = expand(written, Path::new("/nowhere"), &VARS).expect_err(written);
        failures.into_iter().map(|failure| (failure.placeholder, failure.problem.code())).collect()
    }

    #[test]
    fn fills_in_what_is_named() {
        for (written, wanted) in [
            ("", ""),
            ("plain", "plain"),
            ("${USER}", "ada"),
            ("a${USER}b${_x1}c", "aadabyc"),
            ("${EMPTY}", ""),
            ("${EMPTY:-x}", "x"),
            ("${NOT_SET:-}", ""),
            ("${NOT_SET:-a:-b c$}", "a:-b c$"),
            ("${USER:-x}", "ada"),
            ("$$", "$"),
            ("$${USER}", "${USER}"),
            ("$$$$x", "$$x"),
            // What was filled in is not read again.
            ("${NESTED}", "${USER} $$ $"),
            ("ünï${USER}cödé", "ünïadacödé"),
        ] {
            assert_eq!(expanded(written), wanted, "{written}");
        }
    }

    #[test]
    fn refuses_the_rest_and_names_each() {
        let bad = Code::BadInterpolation;
        for (written, placeholder, code) in [
            ("${NOT_SET}", "${NOT_SET}", Code::UnsetVariable),
            ("$USER", "$", bad),
            ("100$", "$", bad),
            ("${USER", "${", bad),
            ("${}", "${}", bad),
            ("${1A}", "${1A}", bad),
            ("${A B}", "${A B}", bad),
            ("${A-b}", "${A-b}", bad),
            ("${file:}", "${file:}", bad),
            ("${A:-${USER}}", "${A:-${USER}", bad),
            ("${file:none}", "${file:none}", Code::UnreadableFile),
        ] {
            assert_eq!(failures(written), [(placeholder.to_owned(), code)]);
        }
        let several = failures("${A}:${B}@${A}/$");
        let placeholders: Vec<&str> = several.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(placeholders, ["${A}", "${B}", "$"]);
    }

    #[test]
    fn files_are_found_next_to_the_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(dir.path().join(name), bytes).unwrap();
        write("plain", b"secret");
        write("unix", b"secret\n");
        write("dos", b"secret\r\n");
        write("two", b"secret\n\n");
        write("binary", &[0xff, 0xfe]);
        write("big", &vec![b'x'; 70_000]);
        for (written, wanted) in [
            ("${file:plain}", "secret"),
            ("<${file:unix}>", "<secret>"),
            ("${file:dos}", "secret"),
            ("${file:two}", "secret\n"),
            ("${file:./plain}", "secret"),
        ] {
            assert_eq!(expand(written, dir.path(), &VARS).unwrap(), wanted);
        }
        let absolute = format!("${{file:{}}}", dir.path().join("plain").display());
        assert_eq!(expand(&absolute, Path::new("/nowhere"), &VARS).unwrap(), "secret");
        for unreadable in ["${file:binary}", "${file:big}", "${file:.}"] {
            let failures = expand(unreadable, dir.path(), &VARS).unwrap_err();
            assert_eq!(failures[0].problem.code(), Code::UnreadableFile);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_not_text_is_refused() {
        struct Bytes;
        impl Env for Bytes {
            fn var(&self, _: &str) -> Option<OsString> {
                use std::os::unix::ffi::OsStringExt;
                Some(OsString::from_vec(vec![0xff]))
            }
        }
        let failures = expand("${A}", Path::new(""), &Bytes).unwrap_err();
        assert_eq!(failures[0].problem.code(), Code::BadInterpolation);
    }
}
