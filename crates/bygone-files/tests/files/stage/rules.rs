//! What an area promises of a single attachment.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use bygone_files::stage::{
    Attachment, Cleaned, Content, Ingest, Metrics, Put, Stage, StageError, StageOptions, Staged, Ttl,
};

use super::{Scene, assert_whole, id_of, put, put_persistent, secs};

#[test]
fn a_staged_file_is_what_it_says() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "hello", 60);
    let Attachment { id, name, path, size, persist, cached, ttl, .. } = attachment.clone();
    assert_eq!(id, id_of(b"hello"));
    assert_eq!(id.to_string(), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
    assert_eq!(path, stage.path().join(id.to_string()).join("hello.txt"));
    assert_eq!((name.as_str(), size, persist, cached, ttl), ("hello.txt", 5, false, false, Ttl::For(secs(60))));
    assert_eq!(fs::read(&path).unwrap(), b"hello");
    let now = bygone_core::Clock::now(&*scene.clock);
    assert_eq!(attachment.inserted_at.as_millisecond(), now.as_millisecond());
    assert_eq!(attachment.deadline, Some(now + secs(60)));
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    assert_eq!(mode(stage.path()), 0o700);
    assert_eq!(stage.get(&id).unwrap(), Some(Attachment { cached: true, ..attachment }));
    assert_whole(&scene.dir());
}

#[test]
fn the_default_lifetime_is_a_day() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = stage.put(Content::reader(&b"x"[..]), &Put::default()).unwrap();
    assert_eq!((attachment.ttl, attachment.name.as_str()), (Ttl::For(secs(86_400)), "_"));
    let short = Stage::open(scene.dir(), StageOptions { default_ttl: secs(5).into(), ..scene.options() }).unwrap();
    assert_eq!(short.put(Content::reader(&b"y"[..]), &Put::default()).unwrap().ttl, Ttl::For(secs(5)));
}

#[test]
fn expired_is_absent_strictly_after_the_deadline_and_swept_or_not() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "short", 10);
    scene.advance(secs(10));
    assert!(stage.get(&attachment.id).unwrap().is_some(), "on its deadline it lives");
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, 0, "and is not swept");
    assert!(attachment.path.exists());
    scene.advance(Duration::from_micros(1));
    assert_eq!(stage.get(&attachment.id).unwrap(), None);
    assert_eq!(stage.list().count(), 0);
    assert_eq!(stage.touch(&attachment.id, None).unwrap(), None);
    assert!(stage.hold(&attachment.id, secs(1)).unwrap().is_none());
    assert!(attachment.path.exists(), "not swept yet");
    let report = stage.force_cleanup().unwrap();
    assert_eq!((report.tally.removed, report.tally.bytes), (1, Some(5)));
    assert!(!attachment.path.exists() && !attachment.path.parent().unwrap().exists());
}

#[test]
fn a_ttl_of_zero_ends_at_once() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "zero", 0);
    assert!(stage.get(&attachment.id).unwrap().is_some(), "at the very instant it lives");
    scene.advance(Duration::from_micros(1));
    assert_eq!(stage.get(&attachment.id).unwrap(), None);
}

#[test]
fn persistent_ones_and_those_for_ever_never_expire() {
    let scene = Scene::new();
    let stage = scene.open();
    let kept = put_persistent(&stage, "kept");
    let lasting = stage.put(Content::reader(&b"lasting"[..]), &Put::named("l").ttl(Ttl::Forever)).unwrap();
    put(&stage, "gone", 1);
    scene.advance(secs(400 * 86_400));
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, 1);
    assert_eq!((kept.ttl, kept.deadline, lasting.deadline), (Ttl::Forever, None, None));
    assert!(stage.get(&kept.id).unwrap().is_some() && stage.get(&lasting.id).unwrap().is_some());
    assert_whole(&scene.dir());
}

#[test]
fn a_restage_refreshes_stretches_and_never_shortens() {
    let scene = Scene::new();
    let stage = scene.open();
    let first = put(&stage, "again", 100);
    scene.advance(secs(50));
    let shorter = put(&stage, "again", 10);
    assert_eq!((shorter.cached, shorter.ttl), (true, Ttl::For(secs(100))), "never shortened");
    assert!(shorter.inserted_at > first.inserted_at);
    assert_eq!(shorter.deadline.unwrap().duration_since(first.deadline.unwrap()).as_secs(), 50);
    assert_eq!(put(&stage, "again", 500).ttl, Ttl::For(secs(500)), "stretched");
    let forever = stage.put(Content::reader(&b"again"[..]), &Put::default().ttl(Ttl::Forever)).unwrap();
    assert_eq!((forever.ttl, forever.deadline, forever.name.as_str()), (Ttl::Forever, None, "again.txt"));
    assert_eq!(put(&stage, "again", 1).ttl, Ttl::Forever, "for ever sticks");
    assert!(put_persistent(&stage, "again").persist, "upgraded");
    assert!(put(&stage, "again", 1).persist, "persist sticks");
    assert_eq!(scene.recount().files, [first.path]);
    let metrics = stage.metrics().unwrap();
    assert_eq!((metrics.total_count, metrics.persistent_count, metrics.persistent_bytes), (1, 1, 5));
}

#[test]
fn a_clock_that_goes_back_does_not_shorten_what_was_promised() {
    let scene = Scene::new();
    let promised = put(&scene.open(), "x", 100);
    let earlier = bygone_core::ManualClock::at(bygone_core::Clock::now(&*scene.clock) - secs(90));
    let options = StageOptions { clock: std::sync::Arc::new(earlier), ..scene.options() };
    let again = put(&Stage::open(scene.dir(), options).unwrap(), "x", 100);
    assert_eq!(again.deadline, promised.deadline);
}

#[test]
fn a_restage_revives_what_expired_and_was_not_swept() {
    let scene = Scene::new();
    let stage = scene.open();
    let first = put(&stage, "back", 10);
    scene.advance(secs(60));
    assert_eq!(stage.get(&first.id).unwrap(), None);
    let second = put(&stage, "back", 10);
    assert!(second.cached);
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, 0);
    assert!(second.path.exists());
}

/// A way to spoil a staged file, and its name.
type Spoil = (&'static str, fn(&std::path::Path));

#[test]
fn a_restage_mends_what_somebody_deleted_or_spoiled() {
    let scene = Scene::new();
    let stage = scene.open();
    let attachment = put(&stage, "mend", 100);
    let spoil: [Spoil; 4] = [
        ("the file", |path| fs::remove_file(path).unwrap()),
        ("the directory", |path| fs::remove_dir_all(path.parent().unwrap()).unwrap()),
        ("the size", |path| fs::write(path, b"m").unwrap()),
        ("a link", |path| {
            fs::remove_file(path).unwrap();
            std::os::unix::fs::symlink("/etc/passwd", path).unwrap();
        }),
    ];
    for (what, spoil) in spoil {
        spoil(&attachment.path);
        let mended = put(&stage, "mend", 100);
        assert!(!mended.cached, "{what} was copied anew");
        assert_eq!(fs::read(&mended.path).unwrap(), b"mend", "{what}");
        assert!(fs::symlink_metadata(&mended.path).unwrap().is_file(), "{what}");
        assert_eq!(stage.metrics().unwrap().total_count, 1, "{what}");
    }
    assert_whole(&scene.dir());
}

#[test]
fn an_attachment_whose_file_is_gone_is_absent_and_forgotten() {
    let scene = Scene::new();
    let stage = scene.open();
    let (gone, stays) = (put(&stage, "gone", 100), put(&stage, "stays", 100));
    fs::remove_file(&gone.path).unwrap();
    assert_eq!(stage.list().map(|a| a.unwrap().id).collect::<Vec<_>>(), [stays.id]);
    assert_eq!(stage.get(&gone.id).unwrap(), None);
    assert_eq!(
        stage.metrics().unwrap(),
        Metrics { total_count: 1, total_bytes: 5, expirable_count: 1, expirable_bytes: 5, ..Metrics::default() }
    );
    assert_eq!(scene.heard.cleaned_names(), [""; 0], "we did not clean it");
}

#[test]
fn touch_restarts_and_stretches() {
    let scene = Scene::new();
    let stage = scene.open();
    let first = put(&stage, "t", 10);
    scene.advance(secs(8));
    let touched = stage.touch(&first.id, None).unwrap().unwrap();
    assert_eq!(touched.deadline.unwrap().duration_since(first.deadline.unwrap()).as_secs(), 8);
    assert_eq!(stage.touch(&first.id, Some(secs(3).into())).unwrap().unwrap().ttl, Ttl::For(secs(10)));
    assert_eq!(stage.touch(&first.id, Some(secs(30).into())).unwrap().unwrap().ttl, Ttl::For(secs(30)));
    assert_eq!(stage.touch(&id_of(b"unknown"), None).unwrap(), None);
    scene.advance(secs(30));
    assert!(stage.get(&first.id).unwrap().is_some());
}

#[test]
fn remove_takes_persistent_ones_too_and_nothing_else() {
    let scene = Scene::new();
    let stage = scene.open();
    let (kept, other) = (put_persistent(&stage, "kept"), put(&stage, "other", 10));
    assert!(stage.remove(&kept.id).unwrap());
    assert!(!stage.remove(&kept.id).unwrap());
    assert_eq!(scene.recount().files, [other.path]);
    assert_eq!(scene.heard.cleaned_names(), ["kept.txt"]);
}

#[test]
fn reset_spares_what_is_persistent() {
    let scene = Scene::new();
    let stage = scene.open();
    let kept = put_persistent(&stage, "kept");
    for n in 0..600 {
        put(&stage, &format!("file {n}"), 1_000);
    }
    stage.put(Content::reader(&b"lasting"[..]), &Put::named("l").ttl(Ttl::Forever)).unwrap();
    let report = stage.reset().unwrap();
    assert_eq!((report.removed, report.held, report.failed), (601, 0, 0));
    assert_eq!(scene.recount().files, [kept.path]);
    assert_whole(&scene.dir());
}

#[test]
fn list_is_complete_over_many_pages() {
    let scene = Scene::new();
    let stage = scene.open();
    let mut ids: Vec<_> = (0..600).map(|n| put(&stage, &n.to_string(), 1_000 + n).id).collect();
    ids.sort();
    assert_eq!(stage.list().map(|a| a.unwrap().id).collect::<Vec<_>>(), ids);
}

#[test]
fn everything_is_told_once_and_only_when_it_is_so() {
    let scene = Scene::new();
    let stage = scene.open();
    let a = put(&stage, "a", 10);
    put(&stage, "a", 5);
    let staged =
        Staged { size_bytes: 1, checksum: a.id, name: a.name.clone(), persist: false, ttl: a.ttl, cached: false };
    let again = Staged { cached: true, ..staged.clone() };
    assert_eq!(*scene.heard.staged.lock().unwrap(), [staged, again]);
    // A directory in the place of the file cannot be unlinked, not even by root.
    fs::remove_file(&a.path).unwrap();
    fs::create_dir(&a.path).unwrap();
    scene.advance(secs(60));
    let report = stage.force_cleanup().unwrap();
    assert_eq!((report.tally.removed, report.tally.kept_back.conflict), (0, 1));
    assert_eq!(*scene.heard.cleaned.lock().unwrap(), []);
    assert_eq!(stage.metrics().unwrap().total_count, 1, "a failed delete is not counted");
    fs::remove_dir(&a.path).unwrap();
    assert_eq!(stage.force_cleanup().unwrap().tally.removed, 1, "and is tried again");
    let cleaned = Cleaned { count: 1, bytes: 1, checksum: a.id, name: a.name, ttl: a.ttl };
    assert_eq!(*scene.heard.cleaned.lock().unwrap(), [cleaned]);
    assert_eq!(stage.metrics().unwrap(), Metrics::default());
}

#[test]
fn what_cannot_be_staged_is_refused_and_leaves_nothing() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 3 { Err(io::Error::other("torn")) } else { Ok(buffer.len()) }
        }
    }
    let scene = Scene::new();
    let stage = scene.open();
    let outside = scene.temporary.path();
    let fifo = outside.join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    let put = |content| stage.put(content, &Put::default());
    assert!(matches!(put(Content::file(outside.join("none"))), Err(StageError::Missing(_))));
    assert!(matches!(put(Content::file(outside)), Err(StageError::IsDirectory(_))));
    assert!(matches!(put(Content::file(&fifo)), Err(StageError::NotAFile(_))));
    assert!(matches!(put(Content::reader(Broken(0))), Err(StageError::Read(_))));
    let endless = stage.put(Content::reader(&b"x"[..]), &Put::default().ttl(Duration::MAX));
    assert!(matches!(endless, Err(StageError::InvalidTtl { .. })), "{endless:?}");
    let recount = scene.recount();
    assert_eq!((recount.entries.len(), recount.files.len(), recount.temporaries), (0, 0, 0));
}

#[test]
fn names_cannot_leave_the_area() {
    let scene = Scene::new();
    let stage = scene.open();
    for (n, name) in ["../../escape", "/etc/passwd", "..", ".", "", "a/b", "CON", &"é".repeat(400)].iter().enumerate()
    {
        let attachment = stage.put(Content::reader(n.to_string().as_bytes()), &Put::named(*name)).unwrap();
        let inside = attachment.path.strip_prefix(stage.path()).unwrap();
        assert_eq!(inside.components().count(), 2, "{name}");
        assert!(fs::symlink_metadata(&attachment.path).unwrap().is_file());
    }
    assert_whole(&scene.dir());
}

#[test]
fn files_are_taken_by_copy_and_by_link() {
    for ingest in [Ingest::Copy, Ingest::Reflink, Ingest::HardLink] {
        let scene = Scene::new();
        let stage = Stage::open(scene.dir(), StageOptions { ingest, ..scene.options() }).unwrap();
        let source = scene.temporary.path().join("source.bin");
        let content: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        fs::write(&source, &content).unwrap();
        let attachment = stage.put(Content::file(&source), &Put::default()).unwrap();
        assert_eq!((attachment.id, attachment.name.as_str()), (id_of(&content), "source.bin"), "{ingest:?}");
        assert!(stage.put(Content::file(&source), &Put::default()).unwrap().cached, "{ingest:?}");
        fs::remove_file(&source).unwrap();
        assert_eq!(fs::read(&attachment.path).unwrap(), content, "{ingest:?}");
        assert_eq!(scene.recount().temporaries, 0, "{ingest:?}");
        assert_whole(&scene.dir());
    }
}

#[test]
fn many_at_once_are_as_one_by_one_and_fail_alone() {
    let scene = Scene::new();
    let stage = scene.open();
    let file = |n: usize| {
        let path = scene.temporary.path().join(format!("{n}.txt"));
        // Every tenth file has the content of another; every hundredth is missing.
        if n % 100 != 99 {
            fs::write(&path, (n / 10 * 10 + n % 10 % 9).to_string()).unwrap();
        }
        (Content::file(path), Put::default())
    };
    let answers: Vec<_> = stage.put_all((0..1_000).map(file)).collect();
    assert_eq!(answers.len(), 1_000);
    for (n, answer) in answers.iter().enumerate() {
        match answer {
            Ok(attachment) => {
                assert_eq!(attachment.cached, n % 10 == 9, "{n}");
                assert_eq!(attachment.id, id_of((n / 10 * 10 + n % 10 % 9).to_string().as_bytes()), "{n}");
            }
            Err(StageError::Missing(_)) => assert_eq!(n % 100, 99),
            Err(error) => panic!("{n}: {error}"),
        }
    }
    assert_eq!(stage.metrics().unwrap().total_count, 900);
    assert_eq!(scene.heard.staged.lock().unwrap().len(), 990);
    assert_eq!(scene.recount().temporaries, 0);
    assert_whole(&scene.dir());
}

#[test]
fn concurrent_stages_of_one_content_make_one_copy() {
    let scene = Scene::new();
    let stage = scene.open();
    let other = scene.open();
    let gate = std::sync::Barrier::new(16);
    let copied: usize = std::thread::scope(|scope| {
        let stage_one = |n: usize| {
            let stage = if n < 8 { &stage } else { &other };
            gate.wait();
            usize::from(!put(stage, "same", 60).cached)
        };
        let threads: Vec<_> = (0..16).map(|n| scope.spawn(move || stage_one(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(copied, 1);
    assert_eq!((scene.recount().files.len(), scene.recount().temporaries), (1, 0));
}
